import type { Failure, FailureClass, UpstreamOutcome } from './failure.ts';
import {
  exhaustedMs,
  limitsOf,
  parseCount,
  parseDuration,
  type ResponseHeaders,
  untilDate,
} from './rate-limits.ts';

const SCOPE_AND_NEXT: Record<FailureClass, Pick<Failure, 'scope' | 'next'>> = {
  rate_limit: { scope: 'target', next: 'elsewhere' },
  quota: { scope: 'account', next: 'elsewhere' },
  auth: { scope: 'key', next: 'elsewhere' },
  server: { scope: 'target', next: 'elsewhere' },
  network: { scope: 'target', next: 'elsewhere' },
  timeout: { scope: 'target', next: 'elsewhere' },
  invalid_request: { scope: 'none', next: 'stop' },
  context_overflow: { scope: 'none', next: 'larger_context' },
  not_its_own: { scope: 'none', next: 'elsewhere' },
  content_filter: { scope: 'none', next: 'stop' },
  client_abort: { scope: 'none', next: 'stop' },
};

/** Classifies a failed attempt: its scope, the next step, and the wait. */
export function classify(outcome: UpstreamOutcome, nowMs: number): Failure {
  const failure = classOf(outcome);
  const wait = outcome.kind === 'response' ? cooldownMs(outcome.headers, outcome.body, nowMs) : undefined;
  return { class: failure, ...SCOPE_AND_NEXT[failure], ...(wait === undefined ? {} : { cooldownMs: wait }) };
}

function classOf(outcome: UpstreamOutcome): FailureClass {
  switch (outcome.kind) {
    case 'client_abort':
      return 'client_abort';
    case 'socket':
      return /TIMEOUT|ETIMEDOUT/.test(outcome.code) ? 'timeout' : 'network';
    case 'empty':
      return 'server';
    case 'response': {
      const error = readUpstreamError(outcome.body) ?? { message: '', names: [] };
      return classByWords(error, outcome.status) ?? classByStatus(statusOf(outcome.status, error));
    }
  }
}

function classByStatus(status: number): FailureClass {
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'quota';
  if (status === 429) return 'rate_limit';
  if (status === 408 || status === 504) return 'timeout';
  // 409 and 425 describe the server's current state, not the request.
  if (status === 409 || status === 425 || status >= 500) return 'server';
  return 'invalid_request';
}

/** Cap on waits that a provider asks for: one day. */
const MAX_COOLDOWN_MS = 86_400_000;
const IN_WORDS = /(?:try again|retry|retry after)\s+(?:in|after)\s+((?:\d+(?:\.\d+)?\s*[a-z]+\s*)+)/i;
const UNITS = /^(?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|minutes?|seconds?|hours?|days?|[dhms])(?![a-z])\s*)+/i;

/**
 * How long to wait after a refusal, in milliseconds from `nowMs` (UTC). Undefined if the upstream states no valid
 * time. The most precise source wins: retry-after-ms, then retry-after, the error message, and the rate limits' resets.
 */
export function cooldownMs(headers: ResponseHeaders, body: unknown, nowMs: number): number | undefined {
  const wait =
    parseCount(headers['retry-after-ms']) ??
    parseCount(headers['x-ms-retry-after-ms']) ??
    retryAfterMs(headers['retry-after'], nowMs) ??
    statedMs(body) ??
    exhaustedMs(headers, nowMs) ??
    soonestResetMs(headers, nowMs);
  return wait === undefined ? undefined : Math.min(wait, MAX_COOLDOWN_MS);
}

/** Retry-After (RFC 9110, 10.2.3): seconds or an HTTP date. */
function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const seconds = parseCount(value);
  return seconds === undefined ? untilDate(value ?? '', nowMs) : seconds * 1_000;
}

/** Gemini's RetryInfo, or "try again in 6m0s" and "retry after 20 seconds" in messages of OpenAI and Azure. */
function statedMs(body: unknown): number | undefined {
  const error = readUpstreamError(body);
  if (!error || error.retryDelayMs !== undefined) return error?.retryDelayMs;
  const duration = UNITS.exec(IN_WORDS.exec(error.message)?.[1] ?? '')?.[0];
  return duration === undefined ? undefined : parseDuration(duration);
}

/** The earliest reset: a guess for responses that mark no limit as exhausted. */
function soonestResetMs(headers: ResponseHeaders, nowMs: number): number | undefined {
  const resets = limitsOf(headers, nowMs).map(({ resetMs }) => resetMs);
  return resets.length === 0 ? undefined : Math.min(...resets);
}

type NamedClass = Exclude<FailureClass, 'server' | 'network' | 'timeout' | 'client_abort'>;

/** Failures that their status alone would misclassify. */
const RULES: { class: NamedClass; names: Set<string>; message?: RegExp }[] = [
  {
    // A limit on concurrent requests: unlike a balance, it recovers by itself.
    class: 'rate_limit',
    names: new Set(['openrouter_in_flight_budget']),
  },
  {
    class: 'quota',
    names: new Set([
      'insufficient_quota',
      'billing_hard_limit_reached',
      'billing_not_active',
      'billing_error',
      'quotaexceeded',
      'payment_required',
      'insufficient_credits',
    ]),
    // Anthropic reports an empty balance and a spend cap as 400 invalid_request_error. Only the message differs.
    message:
      /credit balance is too low|specified api usage limits|insufficient (?:credits?|balance|funds)|out of call volume quota|(?:spend|spending|monthly|credit) (?:cap|limit)|used all available credits/i,
  },
  {
    class: 'auth',
    names: new Set(['invalid_api_key', 'api_key_invalid', 'account_deactivated', 'authentication_error']),
    message: /api key not valid/i,
  },
  {
    // A response, item or conversation stored by another account, or reasoning encrypted by another account.
    class: 'not_its_own',
    names: new Set(['previous_response_not_found', 'invalid_encrypted_content']),
    message:
      /\b(?:response|conversation|item) with id \S{1,200} (?:was )?not found|^invalid `?previous_response_id`?|invalid `?signature`? in `?thinking`? block|encrypted content .{0,500}could not be (?:verified|decrypted)/is,
  },
  {
    // Some providers send 403 here. The key works for other models, so it must not be blocked.
    class: 'invalid_request',
    names: new Set(['model_not_found', 'deploymentnotfound']),
  },
  {
    class: 'content_filter',
    names: new Set([
      'content_filter',
      'content_policy_violation',
      'responsibleaipolicyviolation',
      'moderation_blocked',
    ]),
  },
  {
    class: 'context_overflow',
    names: new Set(['context_length_exceeded', 'model_max_prompt_tokens_exceeded']),
    message:
      /maximum context length|prompt is too long|exceeds? (?:the )?(?:context (?:limit|window|length)|maximum number of tokens)|input token count.{0,200}exceeds|context (?:length|window) (?:is )?exceeded/i,
  },
];

/** Statuses that the message may override. */
const AMBIGUOUS_STATUSES = new Set([400, 402, 403, 404, 413, 422, 429]);

/** Classifies an error by its codes or message. Undefined if only the status is conclusive. */
function classByWords(error: UpstreamError, status: number): NamedClass | undefined {
  for (const { class: failureClass, names, message } of RULES) {
    if (error.names.some((name) => names.has(name))) return failureClass;
    // Messages may quote the prompt, so they count only if the status is ambiguous.
    if (message && (status < 400 || AMBIGUOUS_STATUSES.has(status)) && message.test(error.message))
      return failureClass;
  }
  return undefined;
}

const STATUS_BY_NAME: Record<string, number> = {
  invalid_request_error: 400,
  invalid_argument: 400,
  failed_precondition: 400,
  unauthenticated: 401,
  permission_error: 403,
  permission_denied: 403,
  not_found_error: 404,
  not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  resource_exhausted: 429,
  timeout_error: 504,
  deadline_exceeded: 504,
};

/** The effective status: the response's if it is an error, otherwise the status in the body's error, otherwise 502. */
function statusOf(responseStatus: number, error: UpstreamError): number {
  if (responseStatus >= 400) return responseStatus;
  if (error.status !== undefined) return error.status;
  for (const name of error.names) {
    const status = STATUS_BY_NAME[name];
    if (status !== undefined) return status;
  }
  return 502;
}

/**
 * The error in an upstream's response, from any API:
 * OpenAI and Azure `{error:{message,type,code}}`, Anthropic `{type:'error',error:{type,message}}`,
 * OpenRouter `{error:{code:429,message,metadata}}`, Gemini `{error:{code,message,status,details}}` or a list of that.
 */
interface UpstreamError {
  message: string;
  /** All codes, types and statuses in the error, in lower case. */
  names: string[];
  /** HTTP status stated in the error itself. Within a stream it is the only status. */
  status?: number;
  /** Gemini's RetryInfo, in milliseconds. */
  retryDelayMs?: number;
}

type Fields = Record<string, unknown>;

/** Finds the error in a parsed body. Undefined if there is none. */
function readUpstreamError(body: unknown): UpstreamError | undefined {
  const outer = fieldsOf(Array.isArray(body) ? body[0] : body);
  if (!outer)
    return typeof body === 'string' && body !== '' ? { message: body.slice(0, 2_000), names: [] } : undefined;
  if (typeof outer.error === 'string') return { message: outer.error, names: [] };
  const error = fieldsOf(outer.error) ?? (isBareError(outer) ? outer : undefined);
  if (!error) return undefined;
  const status = statusIn(error.code) ?? statusIn(error.status) ?? statusIn(outer.statusCode);
  const retryDelayMs = retryDelayOf(error.details);
  return {
    message: textOf(error.message),
    names: namesOf(error),
    ...(status === undefined ? {} : { status }),
    ...(retryDelayMs === undefined ? {} : { retryDelayMs }),
  };
}

/** Azure's gateway responds with `{statusCode,message}`, without an `error` around it. */
function isBareError(outer: Fields): boolean {
  return typeof outer.message === 'string' && ('statusCode' in outer || 'code' in outer);
}

function namesOf(error: Fields): string[] {
  const inner = fieldsOf(error.innererror) ?? fieldsOf(error.inner_error);
  const metadata = fieldsOf(error.metadata);
  const details = listOf(error.details).map(fieldsOf);
  const names = [error.code, error.type, error.status, inner?.code, metadata?.limit_source];
  for (const detail of details) names.push(detail?.reason);
  // OpenRouter reports input refused by moderation with these fields, not with a code.
  if (metadata && ('flagged_input' in metadata || 'reasons' in metadata)) names.push('content_filter');
  return names.filter((name) => typeof name === 'string').map((name) => name.toLowerCase());
}

function retryDelayOf(details: unknown): number | undefined {
  for (const detail of listOf(details).map(fieldsOf)) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(textOf(detail?.retryDelay))?.[1];
    if (seconds !== undefined) return Number(seconds) * 1_000;
  }
  return undefined;
}

function statusIn(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status <= 599 ? status : undefined;
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
