import { parseObject } from '../../wire/answer/events.ts';
import type { AnswerSummary } from '../../wire/answer/summary.ts';

export interface RatingOptions {
  /** The request asked for JSON. */
  json: boolean;
  /** The output had a limit, so that reaching it says nothing about quality. */
  limited: boolean;
}

/**
 * Quality of a complete answer in [0,1], by what can be checked without a judge: 0 for a refusal, an unfinished answer,
 * or tool arguments or JSON that don't parse; 1 if they parse. Undefined when there is nothing to check.
 */
export function rateAnswer(
  { refused, cut, calls, text }: AnswerSummary,
  { json, limited }: RatingOptions,
): number | undefined {
  if (refused || (cut && !limited)) return 0;
  if (cut) return undefined;
  const inputs = calls.map((call) => call.arguments).filter((input) => typeof input === 'string');
  if (inputs.length > 0) return Number(inputs.every(isReadable));
  return json && text !== '' ? Number(parseObject(text) !== undefined) : undefined;
}

/** Whether tool arguments parse. A tool without parameters may be called with an empty text. */
function isReadable(input: string): boolean {
  return input === '' || parseObject(input) !== undefined;
}
