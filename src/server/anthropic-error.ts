import type { IncomingMessage } from 'node:http';
import type { ErrorType, GwError } from '../errors.ts';
import { formatRequestId, type RequestId } from '../ids.ts';

/** Anthropic's names for the types of errors: https://docs.anthropic.com/en/api/errors */
const TYPES: Record<ErrorType, string> = {
  authentication_error: 'authentication_error',
  permission_error: 'permission_error',
  not_found_error: 'not_found_error',
  invalid_request_error: 'invalid_request_error',
  insufficient_quota: 'billing_error',
  rate_limit_error: 'rate_limit_error',
  api_error: 'api_error',
};

const MESSAGES_PATH = /^(\/+v1)*\/+(?:messages(?:\/|\?|$)|model\/|projects\/|anthropic\/)/;

/** Whether the client uses Anthropic's API and so expects its errors. */
export function speaksAnthropic({ url = '', headers }: IncomingMessage): boolean {
  return headers['anthropic-version'] !== undefined || MESSAGES_PATH.test(url);
}

/** An error in Anthropic's shape, with gw's fields beside `type` and `message`. */
export function anthropicErrorBody({ message, status, type, param, code, fields }: GwError, id: RequestId) {
  const anthropicType = status === 413 ? 'request_too_large' : status === 504 ? 'timeout_error' : TYPES[type];
  return {
    type: 'error',
    error: { ...fields, type: anthropicType, message, param, code },
    request_id: formatRequestId(id),
  };
}
