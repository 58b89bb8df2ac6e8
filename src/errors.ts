/** The error types of gw's HTTP API. Follows OpenAI's names if OpenAI has one. */
export type ErrorType =
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'invalid_request_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'api_error';

/** A field of the error object in responses. */
export type ErrorField = string | number | boolean | null | { readonly [name: string]: ErrorField };

export interface GwErrorOptions {
  status: number;
  type: ErrorType;
  code: string;
  /** Path of the invalid request field, such as `service.optimize`. */
  param?: string | undefined;
  /** Additional fields of the error object. */
  fields?: Record<string, ErrorField>;
  headers?: Record<string, string>;
  cause?: unknown;
  /** The refused request is recorded already, or can't be recorded. */
  recorded?: boolean;
}

/** An error for the user. Its message states the value, the reason and the next step. */
export class GwError extends Error {
  readonly status: number;
  readonly type: ErrorType;
  readonly code: string;
  readonly param: string | null;
  readonly fields: Record<string, ErrorField>;
  readonly headers: Record<string, string>;
  readonly recorded: boolean;

  constructor(message: string, options: GwErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GwError';
    this.status = options.status;
    this.type = options.type;
    this.code = options.code;
    this.param = options.param ?? null;
    this.fields = options.fields ?? {};
    this.headers = options.headers ?? {};
    this.recorded = options.recorded ?? false;
  }
}

/** A 400 for a request field with a bad value. */
export function badRequest(message: string, param?: string, code = 'invalid_value'): GwError {
  return new GwError(message, { status: 400, type: 'invalid_request_error', code, param });
}

/** A 404 for something that doesn't exist. */
export function notFound(message: string, code: string, param?: string): GwError {
  return new GwError(message, { status: 404, type: 'not_found_error', code, param });
}

/** A 403 for a project or budget that the key has no access to. */
export function budgetForbidden(message: string, param: string): GwError {
  return new GwError(message, { status: 403, type: 'permission_error', code: 'budget_forbidden', param });
}

/** A 503 for something on this machine that gw can't use until it is mended. */
export function unavailable(message: string, code: string, cause?: unknown): GwError {
  return new GwError(message, { status: 503, type: 'api_error', code, cause });
}

/** The message of any thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The result of `work`; `fallback` if it throws. */
export function orElse<T, F>(work: () => T, fallback: F): T | F {
  try {
    return work();
  } catch {
    return fallback;
  }
}
