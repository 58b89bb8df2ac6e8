import type { NanoUsd } from '../../money.ts';
import { SOURCES } from '../ledger/record.ts';

/** The figures of a report row. `requests` includes blocked and failed ones. */
export interface UsageFigures {
  requests: number;
  blockedRequests: number;
  failedRequests: number;
  unpricedRequests: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  savedTokens: number;
  costNanoUsd: NanoUsd;
  savedNanoUsd: NanoUsd;
  /** Input that the provider's cache could have served, and what it cost beyond that. */
  missedTokens: number;
  missedNanoUsd: NanoUsd;
}

export interface UsageRow extends UsageFigures {
  /** The day (YYYY-MM-DD), `provider/model`, name of a project, program, agent or key, path of a repository, or session. */
  key: string;
  /** The second key of a report by two things. */
  subkey?: string;
}

const FIGURES: Record<keyof UsageFigures, string> = {
  requests: 'requests',
  blockedRequests: 'blocked_requests',
  failedRequests: 'failed_requests',
  unpricedRequests: 'unpriced_requests',
  inputTokens: 'input_tokens',
  cachedInputTokens: 'cached_input_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  savedTokens: 'saved_tokens',
  costNanoUsd: 'cost_nano_usd',
  savedNanoUsd: 'saved_nano_usd',
  missedTokens: 'missed_tokens',
  missedNanoUsd: 'missed_nano_usd',
};
const FIGURE_NAMES = Object.keys(FIGURES) as (keyof UsageFigures)[];
/** SQL for the figures, summed over rows `u`. */
export const SUMS = FIGURE_NAMES.map((name) => `sum(u.${FIGURES[name]}) AS ${name}`).join(', ');

/** SQL for usage that went through gw: imported usage is in no report of what gw served. */
export const FROM_GW = `source = ${SOURCES.gw}`;

/** Adds figures to a total. */
export function addFigures(total: UsageFigures, figures: UsageFigures): void {
  for (const name of FIGURE_NAMES) total[name] += figures[name];
}

export function sumFigures(rows: readonly UsageFigures[]): UsageFigures {
  const total = Object.fromEntries(FIGURE_NAMES.map((name) => [name, 0])) as unknown as UsageFigures;
  for (const row of rows) addFigures(total, row);
  return total;
}

/** Highest cost first. */
export function byCost(a: UsageRow, b: UsageRow): number {
  return (
    b.costNanoUsd - a.costNanoUsd ||
    b.requests - a.requests ||
    (a.key < b.key ? -1 : Number(a.key > b.key)) ||
    ((a.subkey ?? '') < (b.subkey ?? '') ? -1 : 1)
  );
}
