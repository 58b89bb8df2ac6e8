import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cooldownMs } from '../../src/routing/cooldown.ts';
import { exhaustedMs } from '../../src/routing/rate-limits.ts';

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
