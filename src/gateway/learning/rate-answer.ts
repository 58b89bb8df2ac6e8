import { parseObject } from '../../wire/answer/events.ts';
import type { AnswerSummary } from '../../wire/answer/summary.ts';

export interface RatingOptions {
  /** The answer was to be JSON. */
  json: boolean;
  /** It had a limit of its own, so that ending there tells nothing. */
  limited: boolean;
}

/**
 * How good a whole answer looks from outside, in [0,1]: 0 for a refusal, one that was not finished, arguments of a tool
 * or a form that cannot be read; 1 where a form was asked for and kept. Undefined where it tells nothing.
 */
export function rateAnswer(
  { refused, cut, calls, text }: AnswerSummary,
  wanted: RatingOptions,
): number | undefined {
  if (refused || (cut && !wanted.limited)) return 0;
  if (cut) return undefined;
  const texts = calls.map((call) => call.arguments).filter((text) => typeof text === 'string');
  if (texts.length > 0) return Number(texts.every(isReadable));
  return wanted.json && text !== '' ? Number(parseObject(text) !== undefined) : undefined;
}

/** A tool without parameters may be called without arguments. */
function isReadable(text: string): boolean {
  return text === '' || parseObject(text) !== undefined;
}
