import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventsOf, NOON, PROPERTY_TIMEOUT_MS, runs } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';
import { spread } from '../../support/simulator-windows.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const minuteOf = (timeMs: number) => timeMs - (timeMs % MINUTE);

const moves = fc.array(
  fc.record({
    pauseMs: fc.oneof(
      fc.integer({ min: 0, max: 30 * SECOND }),
      fc.integer({ min: 0, max: 4 * MINUTE }),
      fc.integer({ min: -3 * MINUTE, max: 0 }),
      fc.constantFrom(MINUTE, 2 * MINUTE, 3 * MINUTE),
    ),
    amount: fc.integer({ min: 1, max: 10 }),
    /** Which open hold settles afterwards, if any, and at what share. */
    settle: fc.option(fc.nat()),
    percent: fc.constantFrom(0, 30, 100),
  }),
  { minLength: 5, maxLength: 40 },
);

interface Taken {
  id: number;
  at: number;
  worst: number;
  cost: number | null;
}

/** What was taken in the future, by its new times. */
function broughtBack(
  taken: readonly Taken[],
  { cap, windowMs, now }: { cap: number; windowMs: number; now: number },
): Taken[] {
  const amountOf = ({ worst, cost }: Taken) => cost ?? worst;
  const sumOf = (list: readonly Taken[]) => list.reduce((sum, each) => sum + amountOf(each), 0);
  const late = taken.filter(({ at }) => minuteOf(at) > now);
  const others = taken.filter((each) => !late.includes(each));
  const used = others.filter(({ at, cost }) => cost === null || minuteOf(at) + MINUTE > now - windowMs);
  const last = Math.max(0, ...late.filter((each) => amountOf(each) > 0).map(({ at }) => minuteOf(at)));
  const paid = late.filter(({ cost }) => cost !== null);
  const held = late.filter(({ cost }) => cost === null);
  const parts = spread(
    { cap, windowMs, now, used: sumOf(used), last },
    sumOf(paid),
    held.map(({ worst }) => worst),
  );
  return [
    ...others,
    ...parts.paid.map(({ start, amount }) => ({ id: 0, at: start, worst: amount, cost: amount })),
    ...held.map((each, i) => ({ ...each, at: parts.held[i] ?? 0 })),
  ];
}

describe('a rolling budget', () => {
  test(
    'counts what the last window held, and no window of whole minutes ever passes the cap',
    async () => {
      const property = fc.asyncProperty(
        fc.constantFrom(MINUTE, 90 * SECOND, 2 * MINUTE, 5 * MINUTE),
        moves,
        async (windowMs, all) => {
          const cap = 20;
          const shop = await openShop();
          await shop.budget({ period: 'rolling', capNanoUsd: cap, windowMs });
          let taken: Taken[] = [];
          let now = NOON;
          let reached = NOON;
          let wasBack = false;
          for (const move of all) {
            now += move.pauseMs;
            shop.clock.set(now);
            const isBack = now < reached - MINUTE;
            const step = now - (now % (30 * SECOND));
            reached = isBack ? step : Math.max(reached, step);
            if (isBack) taken = broughtBack(taken, { cap, windowMs, now });
            wasBack ||= isBack;
            const [standing] = await shop.standings();
            const inWindow = taken.filter(({ at }) => minuteOf(at) + MINUTE > now - windowMs);
            const posted = inWindow.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
            const pending = taken.reduce((sum, { worst, cost }) => sum + (cost === null ? worst : 0), 0);
            expect(standing).toMatchObject({ posted, pending });
            const result = await shop.admit(move.amount);
            expect(result.kind === 'held').toBe(posted + pending + move.amount <= cap);
            if (result.kind === 'held')
              taken.push({ id: result.id, at: now, worst: move.amount, cost: null });
            const open = taken.filter(({ cost }) => cost === null);
            const chosen = move.settle === null ? undefined : open[move.settle % Math.max(1, open.length)];
            if (chosen) {
              const cost = Math.floor((chosen.worst * move.percent) / 100);
              chosen.cost = cost;
              // In one turn with the settlement: what it changed in memory has to be what a new look finds.
              const [, settled] = await Promise.all([shop.settle(chosen.id, cost), shop.standings()]);
              expect(settled).toEqual(await shop.standings());
            }
          }
          // A hold that was moved to another window may settle there for less than it took up.
          const minutes = wasBack ? [] : taken.map(({ at }) => minuteOf(at));
          for (const start of minutes) {
            const within = taken.filter(
              ({ at }) => minuteOf(at) >= start && minuteOf(at) <= start + windowMs,
            );
            const spent = within.reduce((sum, { worst, cost }) => sum + (cost ?? worst), 0);
            expect(spent).toBeLessThanOrEqual(cap);
          }
          shop.db.close();
        },
      );
      await fc.assert(property, runs(0.1));
    },
    PROPERTY_TIMEOUT_MS,
  );

  test('blocks when the window is spent and says when its oldest spend leaves it', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: HOUR });
    await shop.spend(60);
    shop.clock.set(NOON + 20 * MINUTE);
    await shop.spend(40);
    const blocked = await shop.admit(50);
    expect(blocked).toMatchObject({
      kind: 'blocked',
      standing: { posted: 100, resetsAt: NOON + HOUR + MINUTE },
    });
    shop.clock.set(NOON + HOUR + MINUTE);
    expect(await shop.admit(50)).toMatchObject({ kind: 'held' });
  });

  test('holds a running request against the cap for as long as it runs', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: MINUTE });
    const { id } = await shop.admit(80);
    shop.clock.set(NOON + 3 * HOUR);
    expect(await shop.admit(30)).toMatchObject({ kind: 'wait' });
    await shop.settle(id, 80);
    expect(await shop.admit(30)).toMatchObject({ kind: 'held' });
  });

  test('does not count what settles in the moment in which its minute has left the window', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: MINUTE });
    const { id } = await shop.admit(80);
    shop.clock.set(NOON + 2 * MINUTE);
    const [, inTurn] = await Promise.all([shop.settle(id, 80), shop.standings()]);
    expect(inTurn).toMatchObject([{ posted: 0, pending: 0 }]);
    expect(await shop.standings()).toEqual(inTurn);
  });

  test('tells of its threshold once while the spend is in the window, and again in a later one', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: 5 * MINUTE });
    await shop.spend(50);
    for (const minutes of [2, 3, 4]) {
      shop.clock.set(NOON + minutes * MINUTE);
      await shop.spend(12);
    }
    expect(eventsOf(shop.db, 'budget.threshold_reached')).toHaveLength(1);
    shop.clock.set(NOON + HOUR);
    await shop.spend(90);
    expect(eventsOf(shop.db, 'budget.threshold_reached')).toHaveLength(2);
  });

  test('has no period to reset', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: MINUTE });
    await shop.spend(50);
    shop.clock.set(NOON + 72 * HOUR);
    await shop.daemon.ledger.roll();
    expect(shop.news()).toEqual([]);
  });
});
