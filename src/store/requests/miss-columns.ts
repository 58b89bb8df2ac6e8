import { usdNumber } from '../../money.ts';
import type { Row } from '../database/columns.ts';
import { MISS_CAUSES, type MissCause } from '../ledger/record.ts';

/** The columns of a record that hold what it missed of the provider's cache. */
export const MISS_COLUMNS = ['missedTokens', 'missedNanoUsd', 'missCause'] as const;
export type MissColumns = Pick<Row<'journal'>, (typeof MISS_COLUMNS)[number]>;

const CAUSES = Object.keys(MISS_CAUSES) as MissCause[];

/** The first place that differs from the prompt before, as the record's detail has it. */
interface Place {
  field?: string | null;
  messageIndex?: number | null;
  offset?: number | null;
}

/** A miss as reports show it. `detail`: the record's. */
export function missResponse(
  { missedTokens, missedNanoUsd, missCause }: MissColumns,
  detail: Record<string, unknown> | undefined,
) {
  const place = (detail?.cache_miss ?? {}) as Place;
  return {
    missed_tokens: missedTokens,
    missed_usd: usdNumber(missedNanoUsd),
    cause: CAUSES[missCause] ?? 'unknown',
    field: place.field ?? null,
    message_index: place.messageIndex ?? null,
    offset: place.offset ?? null,
  };
}
