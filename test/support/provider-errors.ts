import { json, type Script } from './scripts.ts';

/** What providers refuse requests for. */
export const REFUSALS = [
  'rateLimit',
  'quota',
  'key',
  'server',
  'badRequest',
  'tooLong',
  'filter',
  'noModel',
] as const;
export type Refusal = (typeof REFUSALS)[number];

/** A provider's refusals, in its own shapes; what it has no word for is left out. */
export type Dialect = Partial<Record<Refusal, Script>>;

const openai = (code: number, message: string, type: string, name: string | null, headers = {}): Script =>
  json(code, { error: { message, type, param: null, code: name } }, headers);

const azure = (code: number, name: string, message: string, more = {}, headers = {}): Script =>
  json(code, { error: { code: name, message, ...more } }, headers);

const anthropic = (code: number, type: string, message: string, headers = {}): Script =>
  json(
    code,
    { type: 'error', error: { type, message }, request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy' },
    headers,
  );

const openrouter = (code: number, message: string, metadata = {}): Script =>
  json(code, { error: { code, message, metadata }, user_id: 'user_1' });

/** As their documentation and bug reports show them. */
export const DIALECTS: Record<string, Dialect> = {
  openai: {
    rateLimit: openai(
      429,
      'Rate limit reached for m-a in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 20s.',
      'tokens',
      'rate_limit_exceeded',
    ),
    quota: openai(
      429,
      'You exceeded your current quota, please check your plan and billing details.',
      'insufficient_quota',
      'insufficient_quota',
    ),
    key: openai(401, 'Incorrect API key provided: sk-x.', 'invalid_request_error', 'invalid_api_key'),
    server: openai(500, 'The server had an error while processing your request.', 'server_error', null),
    badRequest: openai(400, "Unknown parameter: 'x'.", 'invalid_request_error', 'unknown_parameter'),
    tooLong: openai(
      400,
      "This model's maximum context length is 8192 tokens.",
      'invalid_request_error',
      'context_length_exceeded',
    ),
    filter: openai(400, 'Your request was rejected.', 'invalid_request_error', 'content_policy_violation'),
    noModel: openai(404, 'The model does not exist.', 'invalid_request_error', 'model_not_found'),
  },
  azure: {
    rateLimit: azure(
      429,
      '429',
      'Requests to the ChatCompletions_Create Operation have exceeded token rate limit. Please retry after 20 seconds.',
      {},
      { 'retry-after': '20', 'x-ratelimit-remaining-tokens': '0' },
    ),
    quota: json(403, {
      statusCode: 403,
      message: 'Out of call volume quota. Quota will be replenished in 12 days.',
    }),
    key: azure(401, '401', 'Access denied due to invalid subscription key or wrong API endpoint.'),
    server: azure(503, 'ServiceUnavailable', 'The service is temporarily unable to process your request.'),
    badRequest: azure(400, 'BadRequest', 'Unsupported value.', { type: 'invalid_request_error', param: 'x' }),
    tooLong: azure(400, 'context_length_exceeded', "This model's maximum context length is 8192 tokens."),
    filter: azure(400, 'content_filter', 'The response was filtered.', {
      innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: {} },
    }),
    noModel: azure(404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.'),
  },
  anthropic: {
    rateLimit: anthropic(429, 'rate_limit_error', "This request would exceed your account's rate limit.", {
      'retry-after': '20',
    }),
    quota: anthropic(
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API.',
    ),
    key: anthropic(401, 'authentication_error', 'invalid x-api-key'),
    server: anthropic(529, 'overloaded_error', 'Overloaded'),
    badRequest: anthropic(400, 'invalid_request_error', 'messages.0.role: Input should be user'),
    tooLong: anthropic(400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum'),
    noModel: anthropic(404, 'not_found_error', 'model: m-a'),
  },
  openrouter: {
    rateLimit: json(
      429,
      { error: { code: 429, message: 'Rate limit exceeded: free-models-per-min.', metadata: {} } },
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Date.UTC(2026, 0, 1, 12, 0, 20)) },
    ),
    quota: openrouter(402, 'Insufficient credits. Add more using https://openrouter.ai/settings/credits'),
    key: openrouter(401, 'No auth credentials found'),
    server: openrouter(502, 'Provider returned error', { provider_name: 'X', raw: 'upstream error' }),
    badRequest: openrouter(400, 'x is not a valid model parameter'),
    tooLong: openrouter(400, "This endpoint's maximum context length is 8192 tokens."),
    filter: openrouter(403, 'Input was flagged', { reasons: ['x'], flagged_input: 'y', provider_name: 'X' }),
  },
};
