import type { FailureClass } from './failure.ts';
import type { UpstreamError } from './upstream-error.ts';

type NamedClass = Exclude<FailureClass, 'server' | 'network' | 'timeout' | 'client_abort'>;

/** Failures that providers report under statuses that alone would mean something else. */
const RULES: { class: NamedClass; names: Set<string>; message?: RegExp }[] = [
  {
    // A budget of requests under way: it frees itself, unlike a balance.
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
    // Anthropic reports an empty balance and a spend cap as 400 invalid_request_error, so only the words tell.
    message:
      /credit balance is too low|specified api usage limits|insufficient (?:credits?|balance|funds)|out of call volume quota|(?:spend|spending|monthly|credit) (?:cap|limit)|used all available credits/i,
  },
  {
    class: 'auth',
    names: new Set(['invalid_api_key', 'api_key_invalid', 'account_deactivated', 'authentication_error']),
    message: /api key not valid/i,
  },
  {
    // A response, an item or a conversation that another account stores, or reasoning that another one has sealed.
    class: 'not_its_own',
    names: new Set(['previous_response_not_found', 'invalid_encrypted_content']),
    message:
      /\b(?:response|conversation|item) with id \S+ (?:was )?not found|^invalid `?previous_response_id`?|invalid `?signature`? in `?thinking`? block|encrypted content .*could not be (?:verified|decrypted)/is,
  },
  {
    // Also a 403, of a key that may use other models: no reason to take the key out.
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
      /maximum context length|prompt is too long|exceeds? (?:the )?(?:context (?:limit|window|length)|maximum number of tokens)|input token count.*exceeds|context (?:length|window) (?:is )?exceeded/i,
  },
];

const MAY_SPEAK = new Set([400, 402, 403, 404, 413, 422, 429]);

/** The class that an error's names or words give away; undefined where the status has to tell. */
export function classByWords(error: UpstreamError, status: number): NamedClass | undefined {
  for (const { class: found, names, message } of RULES) {
    if (error.names.some((name) => names.has(name))) return found;
    // Messages may quote the prompt: they are only believed where the status leaves the question open.
    if (message && (status < 400 || MAY_SPEAK.has(status)) && message.test(error.message)) return found;
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

/** The status that counts: the answer's own, else what an error inside a good answer says, else a bad gateway. */
export function statusOf(answered: number, error: UpstreamError): number {
  if (answered >= 400) return answered;
  if (error.status !== undefined) return error.status;
  for (const name of error.names) {
    const status = STATUS_BY_NAME[name];
    if (status !== undefined) return status;
  }
  return 502;
}
