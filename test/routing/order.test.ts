import { describe, expect, test } from 'vitest';
import type { Candidate } from '../../src/routing/candidate.ts';
import { createHealth } from '../../src/routing/health.ts';
import { lackOf } from '../../src/routing/needs.ts';
import { orderTargets } from '../../src/routing/next-attempt.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { seededRandom } from './seeded-random.ts';
import { target } from './simulation.ts';

const fresh = () => createHealth({ clock: createVirtualClock(), random: seededRandom(1) });
const limit = (health: ReturnType<typeof fresh>, to: Candidate, cooldownMs: number) => {
  const permit = health.begin(to);
  permit.failed({ class: 'rate_limit', scope: 'target', next: 'elsewhere', cooldownMs }, 0);
  permit.ended();
};

describe('orderTargets()', () => {
  const [first, second, third] = [
    target('a', 'm', { priority: 0 }),
    target('b', 'm', { priority: 1 }),
    target('c', 'm', { priority: 2 }),
  ];
  const random = seededRandom(2);

  test('goes by priority, the lowest number first', () => {
    expect(orderTargets({ targets: [third, first, second], health: fresh(), random }).ready).toEqual([
      first,
      second,
      third,
    ]);
  });

  test('puts the target of the conversation first among its equals, and not before a better one', () => {
    const equals = ['d', 'e', 'f', 'g'].map((name) => target(name, 'm', { priority: 1 }));
    for (const sticky of equals) {
      const { ready } = orderTargets({ targets: [...equals, first], health: fresh(), random, sticky });
      expect(ready.slice(0, 2)).toEqual([first, sticky]);
    }
  });

  test('lets health win over stickiness', () => {
    const health = fresh();
    limit(health, third, 10_000);
    const { ready, blocked } = orderTargets({
      targets: [first, second, third],
      health,
      random,
      sticky: third,
    });
    expect(ready).toEqual([first, second]);
    expect(blocked.map((entry) => entry.target)).toEqual([third]);
  });

  test('lists who is blocked by who is back first', () => {
    const health = fresh();
    limit(health, first, 30_000);
    limit(health, second, 10_000);
    const { blocked } = orderTargets({ targets: [first, second], health, random });
    expect(blocked.map((entry) => [entry.target.provider, entry.availability.waitMs])).toEqual([
      ['b', 10_000],
      ['a', 30_000],
    ]);
  });

  test('leaves out who cannot serve the request, and says what is lacking', () => {
    const { ready, unfit } = orderTargets({
      targets: [first, second, third],
      health: fresh(),
      random,
      needs: { contextTokens: 50_000, tools: true },
      capabilitiesOf: ({ provider }) =>
        ({ a: { contextTokens: 8_000, tools: false }, b: { contextTokens: 128_000 } })[provider] ?? {},
    });
    expect(ready).toEqual([second, third]);
    expect(unfit).toEqual([{ target: first, lacks: ['contextTokens', 'tools'] }]);
  });

  test('prefers the faster of one priority', () => {
    const health = fresh();
    const [fast, slow] = [target('fast'), target('slow')];
    for (const [to, ms] of [
      [fast, 50],
      [slow, 2_000],
    ] as const) {
      const permit = health.begin(to);
      permit.succeeded(ms, {});
      permit.ended();
    }
    for (let i = 0; i < 20; i++) {
      expect(orderTargets({ targets: [slow, fast], health, random }).ready[0]).toBe(fast);
    }
  });
});

describe('lackOf()', () => {
  test('holds against a model what it is known not to do, and nothing else', () => {
    const needs = { contextTokens: 10, tools: true, vision: true, jsonSchema: true };
    expect(lackOf({}, needs)).toEqual([]);
    expect(lackOf({ vision: false, jsonSchema: true }, needs)).toEqual(['vision']);
    expect(lackOf({ contextTokens: 9 }, needs)).toEqual(['contextTokens']);
    expect(lackOf({ tools: false, vision: false }, {})).toEqual([]);
  });
});
