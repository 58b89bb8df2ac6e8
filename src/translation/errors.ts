import { isObject } from '../json/object.ts';
import { parseObject } from '../wire/answer/events.ts';
import { asText, type Json } from './json.ts';

/** An error of a provider's, as far as it can be read. */
export interface ProviderError {
  message: string;
  type: unknown;
  code: unknown;
  param: unknown;
}

const MAX_LENGTH = 2_000;

/** Reads an error, or the body of an error response, which may be of any form: Google's is an array. */
export function readError(error: unknown): ProviderError {
  const value = typeof error === 'string' ? (parsed(error) ?? error) : error;
  const object = Array.isArray(value) ? value[0] : value;
  if (!isObject(object)) return named({}, object);
  const inner = object.error ?? object;
  return isObject(inner) ? named(inner, inner.message ?? inner.detail ?? inner) : named(object, inner);
}

const parsed = (text: string): unknown => parseObject(`{"value":${text}}`)?.value;

function named({ type, code, param }: Json, message: unknown): ProviderError {
  return { message: asText(message).slice(0, MAX_LENGTH), type, code, param: param ?? null };
}

/** The words of providers for a prompt that does not fit into the model's context. */
const TOO_LONG =
  /prompt is too long|maximum context length|context[_ ]length|context window|exceeds? the (configured )?limit of \d+ tokens|input token count/i;

export const isTooLong = ({ message, code }: ProviderError): boolean =>
  code === 'context_length_exceeded' || TOO_LONG.test(message);

/** What Claude Code and others compact a conversation on: https://platform.claude.com/docs/en/build-with-claude/context-windows */
export function tooLongMessage({ message }: ProviderError): string {
  if (/prompt is too long/i.test(message)) return message;
  const [largest, next] = (message.match(/\d[\d,]*/g) ?? [])
    .map((digits) => Number(digits.replaceAll(',', '')))
    .filter((count) => count >= 1_000)
    .sort((a, b) => b - a);
  const counts = largest !== undefined && next !== undefined ? `: ${largest} tokens > ${next} maximum` : '';
  return `prompt is too long${counts}${counts === '' ? ` (${message})` : ''}`;
}
