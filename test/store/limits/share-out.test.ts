import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fitWeights } from '../../../src/store/limits/fit-weights.ts';
import type { LoginRequest } from '../../../src/store/limits/limit-requests.ts';
import { goesOn, type LimitPoint } from '../../../src/store/limits/limit-rows.ts';
import { type SharedOut, shareOut, shareOutAs } from '../../../src/store/limits/share-out.ts';
import { createPlanService } from '../../support/plan-service.ts';
import { seededRandom } from '../../support/random.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 5, 9);
const SESSIONS = ['a', 'b', 'c', 'd'];
const OUTSIDE = 'outside';

/** Hidden weights, in shares of five hours a token; list prices have other proportions. */
const WEIGHTS = {
  opus: { input: 4e-8, cached: 2e-9, output: 6e-7 },
  sonnet: { input: 1e-8, cached: 1.2e-9, output: 9e-8 },
};
const PRICES = {
  opus: { input: 5_000, cached: 500, output: 25_000 },
  sonnet: { input: 3_000, cached: 300, output: 15_000 },
};

interface Week {
  points: Record<'5h' | '7d', LimitPoint[]>;
  requests: LoginRequest[];
  /** Real shares of the sum of all windows, by session. */
  truth: Record<'5h' | '7d', Map<string, number>>;
  end: number;
}

/** Days of work in four sessions, some use elsewhere, windows that reset in the middle, figures rounded to 1 %. */
function play(seed: string, { outside = true, days = 4 } = {}): Week {
  const random = seededRandom(seed);
  const draw = () => random(4).readUInt32BE() / 2 ** 32;
  let now = START;
  const service = createPlanService({ clock: { now: () => now }, kind: 'claude', weights: WEIGHTS });
  const week: Week = {
    points: { '5h': [], '7d': [] },
    requests: [],
    truth: { '5h': new Map(), '7d': new Map() },
    end: 0,
  };
  const add = (name: string, share: number) => {
    for (const [window, size] of [
      ['5h', 1],
      ['7d', 10],
    ] as const)
      week.truth[window].set(name, (week.truth[window].get(name) ?? 0) + share / size);
  };
  const note = () => {
    const headers = service.headers();
    for (const window of ['5h', '7d'] as const) {
      const usedPpm = Math.round(Number(headers[`anthropic-ratelimit-unified-${window}-utilization`]) * 1e6);
      const resetsAt = Number(headers[`anthropic-ratelimit-unified-${window}-reset`]) * 1_000;
      const last = week.points[window].at(-1);
      const point = { at: now, usedPpm, resetsAt };
      // A row a minute.
      if (last && Math.floor(last.at / MINUTE) === Math.floor(now / MINUTE)) week.points[window].pop();
      week.points[window].push(point);
    }
  };
  for (let day = 0; day < days; day++) {
    now = START + day * 24 * 60 * MINUTE;
    for (let turn = 0; turn < 160; turn++) {
      now += MINUTE * (0.5 + 4 * draw());
      const session = SESSIONS[Math.floor(draw() ** 2 * SESSIONS.length)] ?? 'a';
      const model = session === 'b' ? 'opus' : draw() < 0.2 ? 'opus' : 'sonnet';
      const cached = Math.round(150_000 * draw());
      const usage = {
        input: Math.round(20_000 * draw()),
        cached,
        output: Math.round(300 + 6_000 * draw() ** 2),
      };
      const startedAt = now;
      note();
      now += MINUTE * draw();
      add(session, service.spend(model, usage));
      const price = PRICES[model];
      week.requests.push({
        login: 'claude-1',
        startedAt,
        endedAt: now,
        session,
        agent: 'claude',
        repo: '',
        model,
        inputTokens: usage.input + usage.cached,
        cachedInputTokens: usage.cached,
        outputTokens: usage.output,
        costNanoUsd: usage.input * price.input + usage.cached * price.cached + usage.output * price.output,
      });
      // On the web, in bursts of its own.
      if (outside && draw() < 0.04) {
        const share = 0.03 + 0.05 * draw();
        service.spendElsewhere(share);
        add(OUTSIDE, share);
      }
    }
    now += MINUTE;
    note();
  }
  return { ...week, end: now };
}

function bySession({ sharesPpm, outsidePpm }: SharedOut, requests: readonly LoginRequest[]) {
  const sums = new Map<string, number>([[OUTSIDE, outsidePpm / 1e6]]);
  for (const [i, ppm] of sharesPpm) {
    const name = requests[i]?.session ?? '';
    sums.set(name, (sums.get(name) ?? 0) + ppm / 1e6);
  }
  return sums;
}

/** What the provider reported that the windows rose by. */
function reported(points: readonly LimitPoint[]): number {
  return points.reduce((sum, point, i) => {
    const last = points[i - 1];
    return sum + point.usedPpm - (last && goesOn(last, point) ? last.usedPpm : 0);
  }, 0);
}

/** The largest difference to the truth, in points of a window, for each window that there was. */
function worst(
  shares: ReadonlyMap<string, number>,
  truth: ReadonlyMap<string, number>,
  windows: number,
): number {
  const names = new Set([...shares.keys(), ...truth.keys()]);
  return (
    (Math.max(...[...names].map((name) => Math.abs((shares.get(name) ?? 0) - (truth.get(name) ?? 0)))) *
      100) /
    windows
  );
}

const runsOf = (points: readonly LimitPoint[]) => new Set(points.map(({ resetsAt }) => resetsAt)).size;

describe('shares of a plan with hidden weights', () => {
  test.each(['one', 'two', 'three', 'four', 'five'])('are right within 3 points of a window (%s)', (seed) => {
    const { points, requests, truth } = play(seed);
    const five = shareOut(points['5h'], requests, 0);
    expect(worst(bySession(five, requests), truth['5h'], runsOf(points['5h']))).toBeLessThan(3);
    expect((five.errorPpm ?? 0) / 10_000).toBeLessThan(2.5);
    const seven = shareOutAs(five, points['7d'], requests, 0);
    expect(worst(bySession(seven, requests), truth['7d'], 1)).toBeLessThan(3);
    for (const [shared, window] of [
      [five, '5h'],
      [seven, '7d'],
    ] as const) {
      const sum = [...shared.sharesPpm.values()].reduce((a, b) => a + b, shared.outsidePpm);
      expect(sum).toBe(reported(points[window]));
    }
  });

  test('need few requests: a day without others is shared out by list prices', () => {
    const { points, requests, truth } = play('short', { outside: false, days: 1 });
    const few = requests.slice(0, 25);
    const until = few.at(-1)?.endedAt ?? 0;
    const shared = shareOut(
      points['5h'].filter(({ at }) => at <= until),
      few,
      0,
    );
    expect(shared.sharesPpm.size).toBe(few.length - 1);
    expect(truth['5h'].size).toBe(4);
  });

  test('go outside of gw where no request was', () => {
    const resetsAt = START + 300 * MINUTE;
    const points = [0, 10, 20].map((minute, i) => ({
      at: START + minute * MINUTE,
      usedPpm: 100_000 * (i + 1),
      resetsAt,
    }));
    expect(shareOut(points, [], 0)).toMatchObject({ outsidePpm: 300_000, errorPpm: undefined });
    expect(shareOut(points, [], START + MINUTE)).toMatchObject({ outsidePpm: 200_000 });
    expect(shareOut([], [], 0)).toMatchObject({ outsidePpm: 0 });
  });
});

test('whatever was reported, shares and the rest are whole and sum to it', () => {
  const point = fc.record({
    at: fc.integer({ min: 0, max: 600 }),
    usedPpm: fc.integer({ min: 0, max: 100 }).map((percent) => percent * 10_000),
    resetsAt: fc.constantFrom(300 * MINUTE, 600 * MINUTE),
  });
  const ask = fc.record({
    at: fc.integer({ min: 0, max: 600 }),
    tokens: fc.integer({ min: 0, max: 1e6 }),
    model: fc.constantFrom('x', 'y'),
  });
  fc.assert(
    fc.property(fc.array(point, { maxLength: 40 }), fc.array(ask, { maxLength: 40 }), (some, asks) => {
      const points = some.map((each) => ({ ...each, at: each.at * MINUTE })).sort((a, b) => a.at - b.at);
      const requests = asks.map(({ at, tokens, model }) => ({
        ...{ login: 'l', session: 's', agent: '', repo: '', model, cachedInputTokens: 0 },
        ...{
          startedAt: at * MINUTE,
          endedAt: at * MINUTE,
          inputTokens: tokens,
          outputTokens: 1,
          costNanoUsd: tokens,
        },
      }));
      const { sharesPpm, outsidePpm } = shareOut(points, requests, -1);
      const all = [...sharesPpm.values(), outsidePpm];
      expect(all.every(Number.isInteger)).toBe(true);
      expect(all.reduce((a, b) => a + b, 0)).toBe(reported(points));
    }),
  );
});

test('the fit finds weights that are there, and none below 0', () => {
  const rows = Array.from({ length: 30 }, (_, i) => [i % 7, (i * 3) % 5, 1_000 * ((i * 5) % 11)]);
  const [a = 0, b = 0, c = 0] = fitWeights(
    rows,
    rows.map(([x = 0, y = 0, z = 0]) => 2 * x + 0.001 * z - 0.2 * y * 0),
  );
  expect([a, b, c].map((weight) => Math.round(weight * 1e4) / 1e4)).toEqual([2, 0, 0.001]);
  expect(
    Math.min(
      ...fitWeights(
        [
          [1, 1],
          [1, 0],
        ],
        [0, 5],
      ),
    ),
  ).toBe(0);
  expect(fitWeights([], [])).toEqual([]);
});
