import { usdNumber } from '../../money.ts';
import type { RecordedNeed } from './record.ts';

/** What a request needs at most, as records and refusals show it. Tokens of all choices, dollars. */
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
