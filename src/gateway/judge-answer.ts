import { isObject, parseObject } from './wire/events.ts';

export interface Wanted {
  /** The answer was to be JSON. */
  json: boolean;
  /** It had a limit of its own, so that ending there tells nothing. */
  limited: boolean;
}

/**
 * How good a whole answer looks from outside, in [0,1]: 0 for a refusal, one that was not finished, arguments of a tool
 * or a form that cannot be read; 1 where a form was asked for and kept. Undefined where it tells nothing.
 */
export function judgeAnswer(answer: Record<string, unknown>, { json, limited }: Wanted): number | undefined {
  const { refused, cut, calls, text } = signsOf(answer);
  if (refused || (cut && !limited)) return 0;
  if (cut) return undefined;
  if (calls.length > 0) return calls.every((call) => parseObject(call) !== undefined) ? 1 : 0;
  return json && text !== '' ? Number(parseObject(text) !== undefined) : undefined;
}

interface Signs {
  refused: boolean;
  cut: boolean;
  /** The arguments of the calls of tools. */
  calls: string[];
  text: string;
}

/** Of chat completions, messages and responses alike. */
function signsOf(answer: Record<string, unknown>): Signs {
  const [choice] = listOf(answer.choices);
  const message = isObject(choice?.message) ? choice.message : undefined;
  const parts = message ? [] : [...listOf(answer.content), ...listOf(answer.output)];
  const inner = parts.flatMap((part) => listOf(part.content));
  const reason = choice?.finish_reason ?? answer.stop_reason;
  const calls = listOf(message?.tool_calls).map((call) => (isObject(call.function) ? call.function : {}));
  return {
    refused:
      typeof message?.refusal === 'string' ||
      reason === 'refusal' ||
      inner.some(({ type }) => type === 'refusal'),
    cut: reason === 'length' || reason === 'max_tokens' || answer.status === 'incomplete',
    calls: [...calls, ...parts.filter(({ type }) => type === 'function_call')]
      .map((call) => call.arguments)
      .filter((given) => typeof given === 'string'),
    text: [message?.content, ...parts.map(({ text }) => text), ...inner.map(({ text }) => text)]
      .filter((text) => typeof text === 'string')
      .join(''),
  };
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
