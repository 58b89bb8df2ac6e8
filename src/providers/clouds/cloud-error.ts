import { isObject } from '../../json/object.ts';
import type { Cloud } from './cloud.ts';

type Wire = Cloud['wire'];

/** An error of a cloud's own, in none of the APIs behind it. */
export interface CloudError {
  message: string;
  /** AWS's exception, Google's status. */
  name: string | undefined;
}

/**
 * Bedrock's `{"message"}` with `x-amzn-errortype` (https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html)
 * and Google's `{"error":{"code","message","status"}}`, also in an array
 * (https://cloud.google.com/apis/design/errors); Azure's without a type, where Anthropic's API has one. Undefined for an error in
 * the words of an API, and for what can't be read.
 */
export function readCloudError(body: string, headers: readonly Buffer[], wire: Wire): CloudError | undefined {
  const value = parsed(body);
  const object = Array.isArray(value) ? value[0] : value;
  if (!isObject(object)) return undefined;
  const { error } = object;
  if (isObject(error)) {
    const isGoogles = typeof error.code === 'number' && typeof error.status === 'string';
    const isAzures = wire === 'anthropic' && error.type === undefined && typeof error.message === 'string';
    if (!isGoogles && !isAzures) return undefined;
    return { message: String(error.message), name: String(error.status ?? error.code) };
  }
  const message = object.message ?? object.Message;
  if (typeof message !== 'string' || error !== undefined) return undefined;
  const at = headers.findIndex(
    (name, i) => i % 2 === 0 && /^x-amzn-errortype$/i.test(name.toString('latin1')),
  );
  // `ThrottlingException:http://internal.amazon.com/coral/...`
  const type = at < 0 ? object.__type : headers[at + 1]?.toString('latin1');
  return { message, name: typeof type === 'string' ? type.split(':')[0]?.split('#').at(-1) : undefined };
}

/** Names of https://platform.claude.com/docs/en/api/errors by status. */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** Bedrock's words for a prompt beyond the model's context. */
const TOO_LONG = /^input is too long/i;

/** The error as JSON in the words of an API. `remedy`: what the user has to do. */
export function cloudError(
  wire: Wire,
  status: number,
  error: CloudError | undefined,
  remedy?: string,
): string {
  const original = error?.message ?? `HTTP ${status}`;
  const stated = TOO_LONG.test(original) ? `prompt is too long: ${original}` : original;
  const message = remedy === undefined ? stated : `${stated}. ${remedy}`;
  const type = ANTHROPIC_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  if (wire === 'gemini')
    return JSON.stringify({ error: { code: status, message, status: error?.name ?? 'UNKNOWN' } });
  if (wire === 'anthropic') return JSON.stringify({ type: 'error', error: { type, message } });
  return JSON.stringify({ error: { message, type, param: null, code: error?.name ?? null } });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
