import { usdNumber } from '../../money.ts';
import { MISS_CAUSES, type MissCause } from '../ledger/record.ts';

/** The columns of a record that hold what it missed of the provider's cache. */
export interface MissColumns {
  missedTokens: number;
  missedNanoUsd: number;
  /** A number of MISS_CAUSES. */
  missCause: number;
}

/** SQL for the columns of record `r`. */
export const MISS_COLUMNS =
  'r.missed_tokens AS missedTokens, r.missed_nano_usd AS missedNanoUsd, r.miss_cause AS missCause';

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

/** `cache_miss` as a record's detail shows it; nothing where nothing was missed. */
export const missDetail = (columns: MissColumns, detail: Record<string, unknown> | undefined) =>
  columns.missedTokens === 0 ? {} : { cache_miss: missResponse(columns, detail) };

/** The other fields of a row. */
export function withoutMiss<T extends MissColumns>(row: T): Omit<T, keyof MissColumns> {
  const { missedTokens, missedNanoUsd, missCause, ...rest } = row;
  return rest;
}
