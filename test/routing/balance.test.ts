import { describe, expect, test } from 'vitest';
import { costOf, newLoad, pickOfTwo, recordTtfb } from '../../src/routing/balance.ts';
import { seededRandom } from './seeded-random.ts';

describe('the moving average', () => {
  test('follows a slower answer at once and a faster one gradually', () => {
    const load = newLoad();
    recordTtfb(load, 100, 0);
    recordTtfb(load, 900, 1_000);
    expect(load.averageMs).toBe(900);
    recordTtfb(load, 100, 2_000);
    expect(load.averageMs).toBeGreaterThan(800);
    recordTtfb(load, 100, 60_000);
    expect(load.averageMs).toBeCloseTo(100, -1);
  });

  test('fades in the cost while nothing is asked', () => {
    const load = newLoad();
    recordTtfb(load, 2_000, 0);
    expect(costOf(load, 1, 0)).toBe(2_000);
    expect(costOf(load, 1, 40_000)).toBeLessThan(40);
  });

  test('costs more with every request in flight, less with more weight', () => {
    const load = newLoad();
    recordTtfb(load, 100, 0);
    load.inFlight = 3;
    expect(costOf(load, 1, 0)).toBe(400);
    expect(costOf(load, 2, 0)).toBe(200);
  });

  test('makes a target that never answered worth one try at a time', () => {
    const load = newLoad();
    expect(costOf(load, 1, 0)).toBe(0);
    load.inFlight = 1;
    expect(costOf(load, 1, 0)).toBeGreaterThan(1_000);
  });
});

describe('pickOfTwo()', () => {
  const items = [1, 2, 3, 4, 5, 6];
  const pick = (random: () => number, weightOf = (_: number) => 1) =>
    pickOfTwo(items, { weightOf, cost: (item) => item, random });

  test('never takes the dearest, and takes the cheapest most often', () => {
    const random = seededRandom(1);
    const counts = new Map<number | undefined, number>();
    for (let i = 0; i < 6_000; i++) {
      const item = pick(random);
      counts.set(item, (counts.get(item) ?? 0) + 1);
    }
    expect(counts.get(6)).toBeUndefined();
    expect(counts.get(1)).toBeGreaterThan(1_800);
    expect(counts.get(2)).toBeGreaterThan(counts.get(3) ?? 0);
  });

  test('draws by weight', () => {
    const random = seededRandom(2);
    const picks = Array.from({ length: 1_000 }, () =>
      pick(random, (item) => (item === 6 || item === 5 ? 100 : 0.1)),
    );
    expect(picks.filter((item) => item === 5).length).toBeGreaterThan(900);
  });

  test('answers the one there is, or nothing', () => {
    const random = seededRandom(3);
    const rest = { weightOf: () => 1, cost: () => 1, random };
    expect(pickOfTwo(['only'], rest)).toBe('only');
    expect(pickOfTwo([], rest)).toBeUndefined();
  });
});
