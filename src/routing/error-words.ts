import type { FailureClass } from './failure.ts';
import type { UpstreamError } from './upstream-error.ts';

type NamedClass = Exclude<FailureClass, 'server' | 'network' | 'timeout' | 'client_abort'>;

/** Failures that providers report with a status that would be classified differently on its own. */
const RULES: { class: NamedClass; names: Set<string>; message?: RegExp }[] = [
  {
    // A budget for concurrent requests: unlike a balance, it frees up by itself.
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
    // Anthropic reports an empty balance and a spend cap as 400 invalid_request_error; only the message tells.
    message:
      /credit balance is too low|specified api usage limits|insufficient (?:credits?|balance|funds)|out of call volume quota|(?:spend|spending|monthly|credit) (?:cap|limit)|used all available credits/i,
  },
  {
    class: 'auth',
    names: new Set(['invalid_api_key', 'api_key_invalid', 'account_deactivated', 'authentication_error']),
    message: /api key not valid/i,
  },
  {
    // A response, item or conversation stored by another account, or reasoning that another account encrypted.
    class: 'not_its_own',
    names: new Set(['previous_response_not_found', 'invalid_encrypted_content']),
    message:
      /\b(?:response|conversation|item) with id \S{1,200} (?:was )?not found|^invalid `?previous_response_id`?|invalid `?signature`? in `?thinking`? block|encrypted content .{0,500}could not be (?:verified|decrypted)/is,
  },
  {
    // Some providers answer 403 here. The key works for other models, so it must not be blocked.
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

/** Statuses whose meaning the message may change. */
const AMBIGUOUS_STATUSES = new Set([400, 402, 403, 404, 413, 422, 429]);

/** Classifies an error by its codes or message. Undefined if only the status tells. */
export function classByWords(error: UpstreamError, status: number): NamedClass | undefined {
  for (const { class: failureClass, names, message } of RULES) {
    if (error.names.some((name) => names.has(name))) return failureClass;
    // Messages may quote the prompt, so they only count when the status is ambiguous.
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

/** The effective status: the response's if it is an error, else the one stated in a 2xx body's error, else 502. */
export function statusOf(responseStatus: number, error: UpstreamError): number {
  if (responseStatus >= 400) return responseStatus;
  if (error.status !== undefined) return error.status;
  for (const name of error.names) {
    const status = STATUS_BY_NAME[name];
    if (status !== undefined) return status;
  }
  return 502;
}
