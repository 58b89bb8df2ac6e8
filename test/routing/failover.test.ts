import { describe, expect, test } from 'vitest';
import type { UpstreamOutcome } from '../../src/routing/failure.ts';
import { createHealth } from '../../src/routing/health.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { seededRandom } from './seeded-random.ts';
import { refusal, type Scripted, simulate, target } from './simulation.ts';

const [a, b, c] = [target('a'), target('b'), target('c')];
const ok = (ms = 100): Scripted => ({ ms, outcome: 'ok' });
const fails = (outcome: UpstreamOutcome, ms = 50): Scripted => ({ ms, outcome });
const share = (count: number, of: number) => count / of;

describe('one of three providers is down', () => {
  test.each<[string, Scripted]>([
    ['500', fails(refusal(500))],
    ['503', fails(refusal(503))],
    [
      '529',
      fails(refusal(529, {}, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })),
    ],
    ['reset', fails({ kind: 'socket', code: 'ECONNRESET' })],
    ['refused', fails({ kind: 'socket', code: 'ECONNREFUSED' }, 1)],
    ['hang', fails({ kind: 'socket', code: 'UND_ERR_HEADERS_TIMEOUT' }, 10_000)],
    ['empty answers', fails({ kind: 'empty' })],
  ])('with %s: every request is served, and the breaker keeps the traffic away', (_, down) => {
    const simulation = simulate({ targets: [a, b, c], upstream: (to) => (to === a ? down : ok()) });
    simulation.traffic(10_000, 500);
    expect(simulation.served.filter(({ end }) => end !== 'ok')).toEqual([]);
    // Five failures open the breaker; from then on at most a probe each time that its wait is over.
    const spentMs = 10_000 * 500;
    expect(simulation.hitsOn(a)).toBeLessThanOrEqual(6 + spentMs / 30_000);
  });

  test('at most six requests reach it before the breaker opens, and one probe each time after', () => {
    const simulation = simulate({
      targets: [a, b],
      upstream: (to) => (to === a ? fails(refusal(500), 10) : ok(10)),
    });
    simulation.traffic(3_000, 100);
    const times = simulation.hits.filter((hit) => hit.target === a).map(({ atMs }) => atMs);
    const gaps = times.slice(5).map((atMs, i) => atMs - (times[i + 4] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2_500);
  });
});

test('three providers that fail 30 % of the time serve all but 0.3 cubed', () => {
  const coin = seededRandom(7);
  const upstream = () => (coin() < 0.3 ? fails(refusal(500)) : ok());
  const simulation = simulate({ targets: [a, b, c], upstream });
  simulation.traffic(20_000, 200);
  const served = simulation.served.filter(({ end }) => end === 'ok').length;
  expect(share(served, 20_000)).toBeGreaterThan(1 - 0.3 ** 3 - 0.005);
});

test('a provider that is slow but not dead gets less than 5 % within 10 s', () => {
  const upstream = (to: unknown, nowMs: number) => ok(to === a && nowMs > 30_000 ? 2_000 : 100);
  const simulation = simulate({ targets: [a, b, c], upstream });
  simulation.traffic(3_000, 50);
  const late = simulation.hits.filter(({ atMs }) => atMs > 40_000).length;
  expect(share(simulation.hitsOn(a, 40_000), late)).toBeLessThan(0.05);
});

describe('429', () => {
  const startUtcMs = Date.UTC(2026, 0, 1, 12);
  const inMs = (ms: number) => new Date(startUtcMs + ms).toUTCString();
  test.each<[string, Record<string, string>, number]>([
    ['retry-after: 2', { 'retry-after': '2' }, 2_000],
    ['retry-after: 3600', { 'retry-after': '3600' }, 3_600_000],
    ['an HTTP date', { 'retry-after': inMs(90_000) }, 90_000 - 50],
    ['retry-after-ms', { 'retry-after-ms': '7500' }, 7_500],
    [
      'x-ratelimit-reset-tokens',
      { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m30s' },
      90_000,
    ],
  ])('with %s: no request reaches that key and model before its end', (_, headers, quietMs) => {
    let limited = true;
    const upstream = () => {
      if (!limited) return ok();
      limited = false;
      return fails(refusal(429, headers));
    };
    const simulation = simulate({ targets: [a], upstream });
    simulation.traffic(Math.min(9_000, 200 + quietMs / 400), 500);
    expect(simulation.hitsOn(a, 1, quietMs + 50)).toBe(0);
    expect(simulation.hitsOn(a, quietMs + 50)).toBeGreaterThan(0);
  });

  test.each(['-1', 'soon'])(
    'with retry-after: %s: a guess keeps it out while another answers',
    (retryAfter) => {
      let limited = true;
      const upstream = (to: unknown) => {
        if (to !== a || !limited) return ok();
        limited = false;
        return fails(refusal(429, { 'retry-after': retryAfter }));
      };
      const simulation = simulate({ targets: [a, b], upstream });
      simulation.traffic(50, 500);
      const refusedAt = simulation.hits.find(({ outcome }) => outcome !== 'ok')?.atMs ?? Number.NaN;
      expect(simulation.hitsOn(a, refusedAt + 1, refusedAt + 2_500)).toBe(0);
      expect(simulation.hitsOn(a, refusedAt + 2_500)).toBeGreaterThan(0);
    },
  );

  test('without a word of its end, and with no other target: is asked again', () => {
    const simulation = simulate({ targets: [a], upstream: () => fails(refusal(429)) });
    for (let i = 0; i < 2; i++) {
      simulation.send();
      simulation.clock.advanceNow(1_000);
    }
    expect(simulation.served.map(({ end }) => end)).toEqual(['none_left', 'none_left']);
    expect(simulation.hitsOn(a)).toBe(2);
  });

  test('leaves the other models of the key alone', () => {
    const other = target('a', 'other');
    const upstream = (to: unknown) => (to === a ? fails(refusal(429, { 'retry-after': '60' })) : ok());
    const simulation = simulate({ targets: [a, other], upstream });
    simulation.traffic(100, 100);
    expect(simulation.served.every(({ end }) => end === 'ok')).toBe(true);
    expect(simulation.hitsOn(a)).toBe(1);
  });

  test('with no other target says how long to wait instead of asking again', () => {
    const simulation = simulate({
      targets: [a],
      upstream: () => fails(refusal(429, { 'retry-after': '60' })),
    });
    simulation.send();
    simulation.clock.advanceNow(1_000);
    simulation.send();
    expect(simulation.served.map(({ end }) => end)).toEqual(['none_left', 'wait']);
  });
});

describe('an account without money', () => {
  test.each<[string, UpstreamOutcome]>([
    [
      'openai',
      refusal(
        429,
        {},
        { error: { message: 'quota', type: 'insufficient_quota', code: 'insufficient_quota' } },
      ),
    ],
    ['openrouter', refusal(402, {}, { error: { code: 402, message: 'Insufficient credits' } })],
    [
      'anthropic',
      refusal(
        400,
        {},
        {
          type: 'error',
          error: { type: 'invalid_request_error', message: 'Your credit balance is too low' },
        },
      ),
    ],
  ])('is left alone with all its keys and models (%s)', (_, outcome) => {
    const siblings = [
      target('a', 'm', { keyId: '1' }),
      target('a', 'n', { keyId: '1' }),
      target('a', 'm', { keyId: '2' }),
    ];
    const upstream = (to: { provider: string }) => (to.provider === 'a' ? fails(outcome) : ok());
    const simulation = simulate({ targets: [...siblings, target('b', 'm', { priority: 1 })], upstream });
    simulation.traffic(500, 1_000);
    expect(simulation.served.every(({ end }) => end === 'ok')).toBe(true);
    expect(siblings.reduce((sum, sibling) => sum + simulation.hitsOn(sibling), 0)).toBe(1);
  });
});

test('401 takes one key out, not the provider', () => {
  const [bad, good] = [target('a', 'm', { keyId: 'bad' }), target('a', 'm', { keyId: 'good' })];
  const upstream = (to: unknown) => (to === bad ? fails(refusal(401)) : ok());
  const simulation = simulate({ targets: [bad, good], upstream });
  simulation.traffic(200, 1_000);
  expect(simulation.served.every(({ end }) => end === 'ok')).toBe(true);
  expect(simulation.hitsOn(bad)).toBe(1);
});

describe('an error that the request itself caused', () => {
  test.each<[string, UpstreamOutcome]>([
    ['400', refusal(400, {}, { error: { message: 'bad field', type: 'invalid_request_error' } })],
    ['404', refusal(404)],
    ['413', refusal(413, {}, { type: 'error', error: { type: 'request_too_large', message: 'too large' } })],
    ['422', refusal(422)],
    ['a content filter', refusal(400, {}, { error: { code: 'content_filter', message: 'filtered' } })],
    ['a client that hung up', { kind: 'client_abort' }],
  ])('%s reaches exactly one upstream', (_, outcome) => {
    const simulation = simulate({ targets: [a, b, c], upstream: () => fails(outcome) });
    simulation.traffic(50, 100);
    expect(simulation.hits.length).toBe(50);
    expect(simulation.served.every(({ end }) => end === 'final')).toBe(true);
  });

  test('does not open the breaker', () => {
    const simulation = simulate({ targets: [a], upstream: () => fails(refusal(400)) });
    simulation.traffic(50, 100);
    expect(simulation.health.availabilityOf(a)).toEqual({ ready: true });
  });
});

describe('a context overflow', () => {
  const overflow = fails(
    refusal(400, {}, { error: { code: 'context_length_exceeded', message: 'too long' } }),
  );
  const rooms = new Map([
    [a, 8_000],
    [b, 8_000],
    [c, 128_000],
  ]);
  const capabilitiesOf = (to: typeof a) => ({ contextTokens: rooms.get(to) ?? 0 });

  test('makes one jump to a larger model', () => {
    const upstream = (to: unknown) => (to === c ? ok() : overflow);
    const simulation = simulate({ targets: [a, b], larger: [b, c], capabilitiesOf, upstream });
    simulation.traffic(1, 100);
    expect(simulation.served[0]).toMatchObject({ end: 'ok', attempts: [expect.anything(), c] });
  });

  test('never goes back to a small model when the larger one fails', () => {
    const upstream = (to: unknown) => (to === c ? fails(refusal(500)) : overflow);
    const simulation = simulate({ targets: [a, b], larger: [c], capabilitiesOf, upstream });
    simulation.traffic(1, 100);
    expect(simulation.served[0]?.attempts.slice(1)).toEqual([c]);
  });

  test('stops when the larger model overflows too, or there is none', () => {
    const both = simulate({
      targets: [a],
      larger: [c, target('d')],
      capabilitiesOf,
      upstream: () => overflow,
    });
    both.traffic(1, 100);
    expect(both.served[0]).toMatchObject({ end: 'final', attempts: [a, c] });
    const none = simulate({ targets: [a, b], capabilitiesOf, upstream: () => overflow });
    none.traffic(1, 100);
    expect(none.served[0]?.attempts.length).toBe(1);
  });
});

test('a total outage makes no storm, and ends within one wait of the breaker', () => {
  let down = true;
  const simulation = simulate({ targets: [a, b, c], upstream: () => (down ? fails(refusal(503)) : ok()) });
  for (let i = 0; i < 30_000; i++) {
    simulation.send();
    simulation.clock.advanceNow(10);
  }
  expect(simulation.hits.length).toBeLessThanOrEqual(1.2 * simulation.served.length);
  down = false;
  const upMs = simulation.clock.monotonic();
  simulation.traffic(7_000, 10);
  const after = simulation.served.filter(({ startMs }) => startMs > upMs + 60_000);
  expect(after.every(({ end }) => end === 'ok')).toBe(true);
});

describe('a restart', () => {
  test('keeps what was left of cooldowns, breakers and averages', () => {
    const clock = createVirtualClock();
    const random = seededRandom(1);
    const before = simulate({
      clock,
      targets: [a, b],
      upstream: (to) =>
        to === a ? fails(refusal(429, { 'retry-after': '100' }), 0) : fails(refusal(500), 0),
      health: createHealth({ clock, random }),
    });
    for (let i = 0; i < 20; i++) before.send();
    clock.advanceNow(0);
    const snapshot = JSON.parse(JSON.stringify(before.health.snapshot()));
    const restarted = createVirtualClock(clock.now() + 40_000);
    const health = createHealth({ clock: restarted, random, snapshot });
    expect(health.availabilityOf(a)).toMatchObject({
      ready: false,
      because: 'rate_limit',
      waitMs: 60_000,
      hard: true,
    });
    restarted.advanceNow(60_000);
    expect(health.availabilityOf(a)).toEqual({ ready: true });
  });

  test('does not lengthen a cooldown when the clock was set back meanwhile', () => {
    const clock = createVirtualClock();
    const random = seededRandom(1);
    const health = createHealth({ clock, random });
    const permit = health.begin(a);
    permit.failed({ class: 'rate_limit', scope: 'target', next: 'elsewhere', cooldownMs: 30_000 }, 10);
    permit.ended();
    const restarted = createHealth({ clock: createVirtualClock(0), random, snapshot: health.snapshot() });
    expect(restarted.availabilityOf(a)).toMatchObject({ waitMs: 30_000 });
  });
});

test('a clock that jumps moves no cooldown', () => {
  const simulation = simulate({ targets: [a], upstream: () => fails(refusal(429, { 'retry-after': '60' })) });
  simulation.send();
  simulation.clock.advanceNow(100);
  for (const jump of [3_600_000, -7_200_000]) {
    simulation.clock.setWallTime(simulation.clock.now() + jump);
    expect(simulation.health.availabilityOf(a)).toMatchObject({ ready: false, waitMs: 60_000 - 50 });
  }
});
