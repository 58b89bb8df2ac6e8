import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classify, cooldownMs } from '../../src/routing/classify.ts';
import type { FailureClass } from '../../src/routing/failure.ts';
import { exhaustedMs } from '../../src/routing/rate-limits.ts';
import { refusal } from './simulation.ts';

const openai = (message: string, code: string | null, type = 'invalid_request_error') => ({
  error: { message, type, param: null, code },
});
const anthropic = (type: string, message = 'x') => ({ type: 'error', error: { type, message } });
const openrouter = (code: number, message: string, metadata?: object) => ({
  error: { code, message, metadata },
});
const gemini = (code: number, status: string, message: string, details: object[] = []) => ({
  error: { code, message, status, details },
});
const azure = (code: string, message: string, more: object = {}) => ({ error: { code, message, ...more } });

const CASES: [string, number, unknown, FailureClass][] = [
  // OpenAI
  [
    'openai rate limit',
    429,
    openai('Rate limit reached for gpt-5', 'rate_limit_exceeded', 'tokens'),
    'rate_limit',
  ],
  [
    'openai quota',
    429,
    openai('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota'),
    'quota',
  ],
  ['openai billing limit', 400, openai('Billing hard limit', 'billing_hard_limit_reached'), 'quota'],
  ['openai bad key', 401, openai('Incorrect API key provided', 'invalid_api_key'), 'auth'],
  ['openai region', 403, openai('Country not supported', 'unsupported_country_region_territory'), 'auth'],
  [
    'openai overflow',
    400,
    openai("This model's maximum context length is 8192", 'context_length_exceeded'),
    'context_overflow',
  ],
  ['openai policy', 400, openai('Your request was rejected', 'content_policy_violation'), 'content_filter'],
  ['openai bad field', 400, openai('Unknown parameter', 'unknown_parameter'), 'invalid_request'],
  [
    'openai response of another account',
    400,
    openai("Previous response with id 'resp_1' not found.", 'previous_response_not_found'),
    'not_its_own',
  ],
  ['openai response, tersely', 400, openai('Invalid `previous_response_id`.', null), 'not_its_own'],
  ['openai item of another account', 404, openai("Item with id 'rs_1' not found.", null), 'not_its_own'],
  [
    'openai seal of another account',
    400,
    openai('The encrypted content gAAA...DQ== could not be verified.', 'invalid_encrypted_content'),
    'not_its_own',
  ],
  [
    'anthropic signature of another maker',
    400,
    anthropic('invalid_request_error', 'messages.1.content.0: Invalid `signature` in `thinking` block'),
    'not_its_own',
  ],
  ['openai no such model', 404, openai('The model does not exist', 'model_not_found'), 'invalid_request'],
  ['openai model not allowed', 403, openai('No access to model', 'model_not_found'), 'invalid_request'],
  ['openai 500', 500, openai('The server had an error', null, 'server_error'), 'server'],
  ['openai 503', 503, 'upstream connect error', 'server'],
  // Azure
  [
    'azure rate limit',
    429,
    azure('429', 'Requests have exceeded token rate limit. Please retry after 6 seconds.'),
    'rate_limit',
  ],
  [
    'azure quota',
    403,
    azure('403', 'Out of call volume quota. Quota will be replenished in 8 days.'),
    'quota',
  ],
  ['azure bad key', 401, { statusCode: 401, message: 'Unauthorized. Access token is missing' }, 'auth'],
  [
    'azure filter',
    400,
    azure('content_filter', 'The response was filtered', {
      innererror: { code: 'ResponsibleAIPolicyViolation' },
    }),
    'content_filter',
  ],
  ['azure overflow', 400, azure('context_length_exceeded', 'too long'), 'context_overflow'],
  ['azure timeout', 408, azure('Timeout', 'The operation was timeout.'), 'timeout'],
  // Anthropic
  ['anthropic rate limit', 429, anthropic('rate_limit_error'), 'rate_limit'],
  ['anthropic overloaded', 529, anthropic('overloaded_error', 'Overloaded'), 'server'],
  ['anthropic overloaded in a stream', 200, anthropic('overloaded_error', 'Overloaded'), 'server'],
  ['anthropic rate limit in a stream', 200, anthropic('rate_limit_error'), 'rate_limit'],
  [
    'anthropic balance',
    400,
    anthropic('invalid_request_error', 'Your credit balance is too low to access'),
    'quota',
  ],
  [
    'anthropic spend cap',
    400,
    anthropic('invalid_request_error', 'You have reached your specified API usage limits.'),
    'quota',
  ],
  ['anthropic billing', 402, anthropic('billing_error'), 'quota'],
  ['anthropic bad key', 401, anthropic('authentication_error', 'invalid x-api-key'), 'auth'],
  ['anthropic permission', 403, anthropic('permission_error'), 'auth'],
  [
    'anthropic overflow',
    400,
    anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    'context_overflow',
  ],
  ['anthropic too large', 413, anthropic('request_too_large'), 'invalid_request'],
  ['anthropic timeout', 504, anthropic('timeout_error'), 'timeout'],
  // OpenRouter
  ['openrouter credits', 402, openrouter(402, 'Insufficient credits'), 'quota'],
  [
    'openrouter in-flight budget',
    402,
    openrouter(402, 'Too much under way', { limit_source: 'openrouter_in_flight_budget' }),
    'rate_limit',
  ],
  [
    'openrouter moderation',
    403,
    openrouter(403, 'Flagged', { reasons: ['violence'], flagged_input: '...' }),
    'content_filter',
  ],
  ['openrouter model down', 502, openrouter(502, 'Provider returned error'), 'server'],
  ['openrouter error in a stream', 200, openrouter(502, 'Provider disconnected'), 'server'],
  ['openrouter rate limit in a stream', 200, openrouter(429, 'Rate limited upstream'), 'rate_limit'],
  ['openrouter timeout', 408, openrouter(408, 'Timed out'), 'timeout'],
  // Gemini
  [
    'gemini rate limit',
    429,
    gemini(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan'),
    'rate_limit',
  ],
  ['gemini in a list', 429, [gemini(429, 'RESOURCE_EXHAUSTED', 'quota')], 'rate_limit'],
  [
    'gemini bad key',
    400,
    gemini(400, 'INVALID_ARGUMENT', 'API key not valid.', [{ reason: 'API_KEY_INVALID' }]),
    'auth',
  ],
  [
    'gemini overflow',
    400,
    gemini(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).',
    ),
    'context_overflow',
  ],
  ['gemini overloaded', 503, gemini(503, 'UNAVAILABLE', 'The model is overloaded.'), 'server'],
  ['gemini deadline', 504, gemini(504, 'DEADLINE_EXCEEDED', 'late'), 'timeout'],
  ['gemini unavailable in a stream', 200, gemini(503, 'UNAVAILABLE', 'overloaded'), 'server'],
  // Anything
  ['no body', 500, undefined, 'server'],
  ['an HTML page', 502, '<html>Bad gateway</html>', 'server'],
  ['a conflict', 409, {}, 'server'],
  ['unprocessable', 422, { detail: [{ msg: 'field required' }] }, 'invalid_request'],
  ['an error of no known kind in a stream', 200, { error: { message: 'something' } }, 'server'],
  ['an error that is a word', 200, { error: 'overloaded' }, 'server'],
];

describe('classify()', () => {
  test.each(CASES)('%s is told apart', (_, status, body, expected) => {
    expect(classify(refusal(status, {}, body), 0).class).toBe(expected);
  });

  test('gives each class its reach and its next step', () => {
    const of = (status: number) => classify(refusal(status), 0);
    expect(of(429)).toEqual({ class: 'rate_limit', scope: 'target', next: 'elsewhere' });
    expect(of(402)).toEqual({ class: 'quota', scope: 'account', next: 'elsewhere' });
    expect(of(401)).toEqual({ class: 'auth', scope: 'key', next: 'elsewhere' });
    expect(of(500)).toEqual({ class: 'server', scope: 'target', next: 'elsewhere' });
    expect(of(400)).toEqual({ class: 'invalid_request', scope: 'none', next: 'stop' });
  });

  test.each([
    ['ECONNREFUSED', 'network'],
    ['ECONNRESET', 'network'],
    ['ENOTFOUND', 'network'],
    ['UND_ERR_SOCKET', 'network'],
    ['ETIMEDOUT', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'timeout'],
  ])('takes the socket error %s for %s', (code, expected) => {
    expect(classify({ kind: 'socket', code }, 0)).toMatchObject({ class: expected, next: 'elsewhere' });
  });

  test('does not believe words in a server error, which may quote the prompt', () => {
    const body = openai(
      'could not answer "my credit balance is too low, the prompt is too long"',
      null,
      'server_error',
    );
    expect(classify(refusal(500, {}, body), 0).class).toBe('server');
  });

  test('passes on how long the upstream wants to be left alone', () => {
    expect(classify(refusal(429, { 'retry-after': '7' }), 0).cooldownMs).toBe(7_000);
  });
});

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);
const wait = (headers: Record<string, string>, body: unknown = {}) => cooldownMs(headers, body, NOW);

describe('cooldownMs()', () => {
  test.each<[string, number | undefined]>([
    ['0', 0],
    ['2', 2_000],
    ['1.5', 1_500],
    [' 30 ', 30_000],
    ['3600', 3_600_000],
    ['Fri, 20 Nov 2026 12:01:00 GMT', 60_000],
    ['Friday, 20-Nov-26 12:01:00 GMT', 60_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['2026-11-20T12:00:05Z', 5_000],
    ['9999999', 86_400_000],
    ['-1', undefined],
    ['', undefined],
    ['soon', undefined],
    ['later 3', undefined],
    ['1e3', undefined],
    ['NaN', undefined],
  ])('reads retry-after: %j as %j ms', (value, expected) => {
    expect(wait({ 'retry-after': value })).toBe(expected);
  });

  test('prefers the millisecond headers, and passes over one that is broken', () => {
    expect(wait({ 'retry-after-ms': '1250', 'retry-after': '2' })).toBe(1_250);
    expect(wait({ 'x-ms-retry-after-ms': '300', 'retry-after': '1' })).toBe(300);
    expect(wait({ 'retry-after-ms': '-5', 'retry-after': '2' })).toBe(2_000);
  });

  test('takes the reset of the limit that is used up', () => {
    const headers = {
      'x-ratelimit-remaining-requests': '99',
      'x-ratelimit-reset-requests': '6h0m0s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '1m30.5s',
    };
    expect(wait(headers)).toBe(90_500);
  });

  test('takes the soonest reset where none is marked as used up', () => {
    expect(wait({ 'x-ratelimit-reset-requests': '12ms', 'x-ratelimit-reset-tokens': '2s' })).toBe(12);
  });

  test.each([
    ['seconds from now', '20'],
    ['an instant in seconds', String(NOW / 1_000 + 20)],
    ['an instant in milliseconds', String(NOW + 20_000)],
  ])('reads x-ratelimit-reset as %s', (_, value) => {
    expect(wait({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': value })).toBe(20_000);
  });

  test("reads Anthropic's resets, which are dates", () => {
    const headers = {
      'anthropic-ratelimit-requests-remaining': '5',
      'anthropic-ratelimit-requests-reset': '2026-11-20T12:00:01Z',
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': '2026-11-20T12:00:42Z',
    };
    expect(wait(headers)).toBe(42_000);
  });

  test("reads Gemini's RetryInfo", () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17.5s' }];
    expect(wait({}, { error: { code: 429, message: '', details } })).toBe(17_500);
  });

  test.each<[string, number | undefined]>([
    ['Rate limit reached. Please try again in 6m0s. Visit the site.', 360_000],
    ['Please try again in 20ms.', 20],
    ['Please retry after 6 seconds.', 6_000],
    ['Please try again in 1.5s', 1_500],
    ['Please try again in 3 steps', undefined],
    ['Please try again later', undefined],
  ])('reads the message %j as %j ms', (message, expected) => {
    expect(wait({}, { error: { message } })).toBe(expected);
  });

  test('is nothing or a time of at most a day, whatever the headers say', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    const name = fc.constantFrom(
      'retry-after',
      'retry-after-ms',
      'x-ratelimit-reset',
      'x-ratelimit-reset-tokens',
      'anthropic-ratelimit-tokens-reset',
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), fc.string(), (headers, message) => {
        const ms = wait(headers, { error: { message } });
        if (ms === undefined) return;
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(86_400_000);
      }),
    );
  });
});

describe('exhaustedMs()', () => {
  test('is nothing while there is room', () => {
    expect(
      exhaustedMs({ 'x-ratelimit-remaining-tokens': '10', 'x-ratelimit-reset-tokens': '1s' }, NOW),
    ).toBeUndefined();
    expect(exhaustedMs({}, NOW)).toBeUndefined();
  });

  test('is the last of the resets that must pass', () => {
    const headers = {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '3s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '1s',
    };
    expect(exhaustedMs(headers, NOW)).toBe(3_000);
  });
});
