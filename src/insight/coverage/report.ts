import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import type { AgentCoverage } from './find-bypass.ts';

/** Output of `gw coverage --json`. */
export interface CoverageReport {
  object: 'coverage';
  from: string;
  to: string;
  data: SessionCoverage[];
  total: Figures & { sessions: number };
  logs: LogFigures[];
}

interface Figures {
  requests: number;
  covered_requests: number;
  bypassed_requests: number;
  /** At list price; excludes requests whose price is unknown. */
  bypassed_usd: number;
  bypassed_nano_usd: number;
  /** Bypassed requests whose price is unknown. */
  unpriced_requests: number;
}

export interface SessionCoverage extends Figures {
  agent: string;
  session_id: string;
  first_at: string;
  last_at: string;
  models: string[];
  cwd: string | null;
}

interface LogFigures {
  agent: string;
  files: number;
  lines: number;
  damaged_lines: number;
  unread_files: string[];
}

interface ReportOptions {
  from: number;
  to: number;
  /** List price of a call; undefined if unknown. */
  priceOf: (call: LoggedCall) => NanoUsd | undefined;
}

/** Sums coverage by session, latest first. */
export function coverageReport(
  coverage: readonly AgentCoverage[],
  { from, to, priceOf }: ReportOptions,
): CoverageReport {
  const data = coverage
    .flatMap((each) => sessionsOf(each).map((calls) => sessionCoverage(each, calls, priceOf)))
    .sort((a, b) => b.last_at.localeCompare(a.last_at));
  return {
    object: 'coverage',
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    data,
    total: { sessions: data.length, ...sum(data) },
    logs: coverage.map(({ agent, reading: { files, lines, damaged, unread } }) => ({
      agent,
      files,
      lines,
      damaged_lines: [...damaged.values()].reduce((all, each) => all + each.length, 0),
      unread_files: [...unread],
    })),
  };
}

function sessionsOf({ reading }: AgentCoverage): LoggedCall[][] {
  const sessions = new Map<string, LoggedCall[]>();
  for (const call of reading.calls) {
    const calls = sessions.get(call.sessionId);
    if (calls) calls.push(call);
    else sessions.set(call.sessionId, [call]);
  }
  return [...sessions.values()];
}

/** Coverage of one session, whose calls are sorted by time. */
function sessionCoverage(
  { agent, bypassed }: AgentCoverage,
  calls: readonly LoggedCall[],
  priceOf: ReportOptions['priceOf'],
): SessionCoverage {
  const prices = calls.filter((call) => bypassed.has(call)).map(priceOf);
  const nanoUsd = prices.reduce<number>((all, price) => all + (price ?? 0), 0);
  const timeAt = (index: number) => new Date(calls.at(index)?.at ?? 0).toISOString();
  return {
    agent,
    session_id: calls[0]?.sessionId ?? '',
    first_at: timeAt(0),
    last_at: timeAt(-1),
    models: [...new Set(calls.map(({ model }) => model))].filter((model) => model !== ''),
    cwd: calls[0]?.cwd || null,
    requests: calls.length,
    covered_requests: calls.length - prices.length,
    bypassed_requests: prices.length,
    bypassed_usd: usdNumber(nanoUsd),
    bypassed_nano_usd: nanoUsd,
    unpriced_requests: prices.filter((price) => price === undefined).length,
  };
}

/** Totals over rows. */
export function sum(rows: readonly Figures[]): Figures {
  const over = (name: keyof Figures) => rows.reduce((all, row) => all + row[name], 0);
  const nanoUsd = over('bypassed_nano_usd');
  return {
    requests: over('requests'),
    covered_requests: over('covered_requests'),
    bypassed_requests: over('bypassed_requests'),
    bypassed_usd: usdNumber(nanoUsd),
    bypassed_nano_usd: nanoUsd,
    unpriced_requests: over('unpriced_requests'),
  };
}
