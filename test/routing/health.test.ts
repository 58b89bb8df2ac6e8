import { describe, expect, test } from 'vitest';
import type { Failure } from '../../src/routing/failure.ts';
import { createHealth, isHealthSnapshot } from '../../src/routing/health.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { seededRandom } from './seeded-random.ts';
import { target } from './simulation.ts';

const to = target('a', 'm', { keyId: '1' });
const server: Failure = { class: 'server', scope: 'target', next: 'elsewhere' };
const limited = (cooldownMs?: number): Failure => ({
  class: 'rate_limit',
  scope: 'target',
  next: 'elsewhere',
  ...(cooldownMs === undefined ? {} : { cooldownMs }),
});

function setup() {
  const clock = createVirtualClock();
  const changes: number[] = [];
  const onChange = () => void changes.push(clock.now());
  const health = createHealth({ clock, random: seededRandom(1), onChange });
  const run = (report: (permit: ReturnType<typeof health.begin>) => void) => {
    const permit = health.begin(to);
    report(permit);
    permit.ended();
  };
  return { clock, health, run, changes };
}

describe('health', () => {
  test('of a target never asked is good', () => {
    const { health } = setup();
    expect(health.availabilityOf(to)).toEqual({ ready: true });
    expect(health.expectedMs(to)).toBeUndefined();
  });

  test('is not mended by an answer to a request that went out before the refusal', () => {
    const { health, run } = setup();
    const early = health.begin(to);
    run((permit) => permit.failed(limited(60_000), 1));
    early.succeeded(100, {});
    early.ended();
    expect(health.availabilityOf(to)).toMatchObject({ ready: false, because: 'rate_limit' });
  });

  test('is mended by an answer to a last resort', () => {
    const { health, run, clock } = setup();
    run((permit) => permit.failed({ class: 'quota', scope: 'account', next: 'elsewhere' }, 1));
    expect(health.availabilityOf(target('a', 'other'))).toMatchObject({
      ready: false,
      because: 'quota',
      hard: false,
    });
    clock.advanceNow(1_000);
    run((permit) => permit.succeeded(100, {}));
    expect(health.availabilityOf(target('a', 'other'))).toEqual({ ready: true });
  });

  test('is saved when it is mended, and not for each answer', () => {
    const { health, run, clock, changes } = setup();
    const succeed = () => run((permit) => permit.succeeded(100, {}));
    succeed();
    expect(changes).toHaveLength(0);
    for (let i = 0; i < 5; i++) run((permit) => permit.failed(server, 1));
    run((permit) => permit.failed({ class: 'auth', scope: 'key', next: 'elsewhere' }, 1));
    expect(health.snapshot()).toMatchObject({ blocks: [{ because: 'auth' }], targets: [{ openings: 1 }] });
    changes.length = 0;
    clock.advanceNow(1_000);
    succeed();
    succeed();
    expect(changes).toHaveLength(2);
    expect(health.snapshot()).toMatchObject({ blocks: [], targets: [{ openings: 0, openLeftMs: 0 }] });
    succeed();
    expect(changes).toHaveLength(2);
  });

  test('guesses ever longer at rate limits that do not say when they end', () => {
    const { health, run, clock } = setup();
    const waits: number[] = [];
    for (let i = 0; i < 6; i++) {
      run((permit) => permit.failed(limited(), 1));
      const state = health.availabilityOf(to);
      waits.push(state.ready ? 0 : state.waitMs);
      clock.advanceNow(60_000);
    }
    waits.forEach((waitMs, i) => {
      const longest = Math.min(60_000, 5_000 * 2 ** i);
      expect(waitMs).toBeGreaterThanOrEqual(longest / 2);
      expect(waitMs).toBeLessThanOrEqual(longest);
    });
  });

  test('believes "retry after 0" once', () => {
    const { health, run } = setup();
    run((permit) => permit.failed(limited(0), 1));
    expect(health.availabilityOf(to)).toEqual({ ready: true });
    run((permit) => permit.failed(limited(0), 1));
    expect(health.availabilityOf(to)).toMatchObject({ ready: false, because: 'guess', hard: false });
  });

  test('moves traffic away before the 429, where an answer says that a limit is used up', () => {
    const { health, run } = setup();
    run((permit) =>
      permit.succeeded(100, { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '4s' }),
    );
    expect(health.availabilityOf(to)).toMatchObject({
      ready: false,
      because: 'used_up',
      waitMs: 4_000,
      hard: false,
    });
  });

  test('tells the end of a rate limit, however long the account is without money', () => {
    const { health, run } = setup();
    run((permit) => permit.failed({ class: 'quota', scope: 'account', next: 'elsewhere' }, 1));
    run((permit) =>
      permit.failed({ class: 'rate_limit', scope: 'target', next: 'elsewhere', cooldownMs: 1_000 }, 1),
    );
    expect(health.availabilityOf(to)).toEqual({
      ready: false,
      because: 'rate_limit',
      waitMs: 1_000,
      hard: true,
    });
  });

  test('leaves an overloaded target alone for as long as it asks', () => {
    const { health, run } = setup();
    run((permit) => permit.failed({ ...server, cooldownMs: 8_000 }, 1));
    expect(health.availabilityOf(to)).toMatchObject({
      ready: false,
      because: 'overload',
      waitMs: 8_000,
      hard: false,
    });
  });

  test('takes a timeout for a slow answer', () => {
    const { health, run } = setup();
    run((permit) => permit.failed({ class: 'timeout', scope: 'target', next: 'elsewhere' }, 30_000));
    expect(health.expectedMs(to)).toBe(30_000);
  });

  test('counts what is in flight once, however often it is ended', () => {
    const { health, run } = setup();
    run((permit) => permit.succeeded(100, {}));
    const idle = health.costOf(to);
    const permit = health.begin(to);
    expect(health.costOf(to)).toBeCloseTo(2 * idle, 6);
    permit.ended();
    permit.ended();
    expect(health.costOf(to)).toBeCloseTo(idle, 6);
  });

  test('lets another probe through when the client of one hung up', () => {
    const { health, run, clock } = setup();
    for (let i = 0; i < 5; i++) run((permit) => permit.failed(server, 1));
    clock.advanceNow(5_000);
    const probe = health.begin(to);
    expect(health.availabilityOf(to)).toMatchObject({ ready: false, because: 'breaker' });
    probe.failed({ class: 'client_abort', scope: 'none', next: 'stop' }, 1);
    probe.ended();
    expect(health.availabilityOf(to)).toEqual({ ready: true });
  });

  test('does not free the probe of another when a long answer ends', () => {
    const { health, run, clock } = setup();
    for (let i = 0; i < 5; i++) run((permit) => permit.failed(server, 1));
    clock.advanceNow(5_000);
    const first = health.begin(to);
    first.succeeded(100, {});
    const second = health.begin(to);
    first.ended();
    expect(health.availabilityOf(to)).toMatchObject({ ready: false, because: 'breaker' });
    second.succeeded(100, {});
    second.ended();
    expect(health.availabilityOf(to)).toEqual({ ready: true });
  });
});

describe('what an earlier run knew', () => {
  test.each([
    null,
    7,
    { savedAtMs: 1 },
    { savedAtMs: 1, blocks: [null], targets: [] },
    { savedAtMs: 1, blocks: [], targets: [{ id: 'target:a//m' }] },
  ])('is left out where it was stored as %j', (stored) => {
    expect(isHealthSnapshot(stored)).toBe(false);
  });

  test('is taken up as it was stored', () => {
    const { health, run } = setup();
    run((permit) => permit.succeeded(100, {}));
    run((permit) => permit.failed(limited(60_000), 1));
    expect(isHealthSnapshot(JSON.parse(JSON.stringify(health.snapshot())))).toBe(true);
  });
});
