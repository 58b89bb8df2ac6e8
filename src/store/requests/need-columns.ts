import { needResponse } from '../ledger/need-response.ts';
import { INPUT_BOUNDS, type RecordedNeed } from '../ledger/record.ts';

/** The columns of a record that hold its need and a lowered output limit. */
export interface NeedColumns {
  needInputTokens: number;
  /** 0: the need isn't known. */
  needInputBound: number;
  needOutputTokens: number;
  outputAskedTokens: number | null;
  needInputNanoUsd: number;
  needOutputNanoUsd: number;
  needFeesNanoUsd: number;
  limitAskedTokens: number | null;
  /** Null: the limit was not lowered. */
  outputSentTokens: number | null;
}

/** SQL for the columns of record `r`. */
export const NEED_COLUMNS = `r.need_input_tokens AS needInputTokens, r.need_input_bound AS needInputBound,
  r.need_output_tokens AS needOutputTokens, r.output_asked_tokens AS outputAskedTokens,
  r.need_input_nano_usd AS needInputNanoUsd, r.need_output_nano_usd AS needOutputNanoUsd,
  r.need_fees_nano_usd AS needFeesNanoUsd, r.limit_asked_tokens AS limitAskedTokens,
  r.output_sent_tokens AS outputSentTokens`;

const BOUND_NAMES = Object.fromEntries(
  Object.entries(INPUT_BOUNDS).map(([name, number]) => [number, name]),
) as Record<number, RecordedNeed['inputBound']>;

/** `max_output_tokens` and `need` as a record's detail shows them. */
export function needDetail(columns: NeedColumns): Record<string, unknown> {
  const inputBound = BOUND_NAMES[columns.needInputBound];
  return {
    ...(columns.outputSentTokens === null
      ? {}
      : { max_output_tokens: { asked: columns.limitAskedTokens, sent: columns.outputSentTokens } }),
    ...(inputBound && {
      need: needResponse({
        inputTokens: columns.needInputTokens,
        inputBound,
        outputTokens: columns.needOutputTokens,
        outputAskedTokens: columns.outputAskedTokens,
        inputNanoUsd: columns.needInputNanoUsd,
        outputNanoUsd: columns.needOutputNanoUsd,
        feesNanoUsd: columns.needFeesNanoUsd,
      }),
    }),
  };
}

/** The other fields of a row. */
export function withoutNeed<T extends NeedColumns>(row: T): Omit<T, keyof NeedColumns> {
  const {
    needInputTokens,
    needInputBound,
    needOutputTokens,
    outputAskedTokens,
    needInputNanoUsd,
    needOutputNanoUsd,
    needFeesNanoUsd,
    limitAskedTokens,
    outputSentTokens,
    ...rest
  } = row;
  return rest;
}
