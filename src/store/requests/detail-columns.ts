import { usdNumber } from '../../money.ts';
import type { Row } from '../database/columns.ts';
import { INPUT_BOUNDS, MISS_CAUSES, type MissCause, type RecordedNeed } from '../ledger/record.ts';

/** The columns of a record that hold its need and a lowered output limit. */
export const NEED_COLUMNS = [
  'needInputTokens',
  'needInputBound',
  'needOutputTokens',
  'outputAskedTokens',
  'needInputNanoUsd',
  'needOutputNanoUsd',
  'needFeesNanoUsd',
  'limitAskedTokens',
  'outputSentTokens',
] as const;
type NeedColumns = Pick<Row<'journal'>, (typeof NEED_COLUMNS)[number]>;

const BOUNDS = Object.keys(INPUT_BOUNDS) as RecordedNeed['inputBound'][];

/** `max_output_tokens` and `need` as a record's detail shows them. */
export function needDetail(row: NeedColumns): Record<string, unknown> {
  const inputBound = BOUNDS.find((bound) => INPUT_BOUNDS[bound] === row.needInputBound);
  return {
    ...(row.outputSentTokens !== null && {
      max_output_tokens: { asked: row.limitAskedTokens, sent: row.outputSentTokens },
    }),
    ...(inputBound && {
      need: needResponse({
        inputTokens: row.needInputTokens,
        inputBound,
        outputTokens: row.needOutputTokens,
        outputAskedTokens: row.outputAskedTokens,
        inputNanoUsd: row.needInputNanoUsd,
        outputNanoUsd: row.needOutputNanoUsd,
        feesNanoUsd: row.needFeesNanoUsd,
      }),
    }),
  };
}

/** The worst case of a request, as records and refusals show it. Tokens of all choices, dollars. */
export function needResponse(need: RecordedNeed) {
  return {
    input_tokens: need.inputTokens,
    input_bound: need.inputBound,
    output_tokens: need.outputTokens,
    output_asked_tokens: need.outputAskedTokens,
    input_usd: usdNumber(need.inputNanoUsd),
    output_usd: usdNumber(need.outputNanoUsd),
    fees_usd: usdNumber(need.feesNanoUsd),
  };
}

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
