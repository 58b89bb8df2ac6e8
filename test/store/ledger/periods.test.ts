import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays } from '../../../src/calendar.ts';
import { eventsOf, PROPERTY_TIMEOUT_MS } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';
import { firstInstant, offsetsOf, ZONES } from '../../support/simulator-zones.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const JUMPS = 25;
/** Smaller steps back are none; how far the clock has got is known in steps. */
const SLACK_MS = 60_000;
const stepOf = (timeMs: number) => timeMs - (timeMs % 30_000);

const jumps = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 2 * DAY_MS }),
    fc.integer({ min: -2 * DAY_MS, max: 0 }),
    fc.integer({ min: 0, max: 70 * DAY_MS }),
  ),
  { minLength: JUMPS, maxLength: JUMPS },
);

/** The local date at a time, by the zone's offsets alone. */
function dateAt(pieces: ReturnType<typeof offsetsOf>, timeMs: number): string {
  const piece = pieces.find(({ from, until }) => timeMs >= from && timeMs < until);
  return new Date(timeMs + (piece?.offsetMs ?? Number.NaN)).toISOString().slice(0, 10);
}

const mondayOf = (date: string) => addDays(date, -((new Date(date).getUTCDay() + 6) % 7));
const daysBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / DAY_MS;
const weeksBetween = (from: string, to: string) => daysBetween(from, to) / 7;
const monthsBetween = (from: string, to: string) =>
  (Number(to.slice(0, 4)) - Number(from.slice(0, 4))) * 12 +
  Number(to.slice(5, 7)) -
  Number(from.slice(5, 7));

test(
  'over 500 jumps of the clock, budgets are in the period of the clock, and each boundary is told as it is passed',
  async () => {
    const property = fc.asyncProperty(fc.constantFrom(...ZONES), jumps, async (timezone, all) => {
      const start = Date.UTC(2026, 0, 15, 12);
      const shop = await openShop({ timezone, startMs: start });
      const pieces = offsetsOf(timezone, 2025, 2033);
      await shop.budget({ period: 'daily', capNanoUsd: 1 });
      await shop.budget({ period: 'monthly', capNanoUsd: 1 });
      await shop.budget({ period: 'weekly', capNanoUsd: 1 });
      const kinds = [
        { period: 'daily', startOf: (date: string) => date, between: daysBetween },
        { period: 'monthly', startOf: (date: string) => `${date.slice(0, 8)}01`, between: monthsBetween },
        { period: 'weekly', startOf: mondayOf, between: weeksBetween },
      ].map((kind) => ({ ...kind, current: kind.startOf(dateAt(pieces, start)), told: 0 }));
      let now = start;
      let latest = start;
      for (const jump of all) {
        now = Math.max(start, now + jump);
        shop.clock.set(now);
        await shop.daemon.ledger.roll();
        const isBack = now < latest - SLACK_MS;
        latest = isBack ? stepOf(now) : Math.max(latest, stepOf(now));
        const standings = await shop.standings();
        const resets = eventsOf(shop.db, 'budget.reset');
        for (const kind of kinds) {
          const start = kind.startOf(dateAt(pieces, now));
          if (isBack && firstInstant(pieces, kind.current) > now) kind.current = start;
          kind.told += Math.max(0, kind.between(kind.current, start));
          if (start > kind.current) kind.current = start;
          const { budget } = standings.find((standing) => standing.budget.period === kind.period) ?? {};
          expect(budget?.currentStart).toBe(firstInstant(pieces, kind.current));
          const told = resets.filter(({ data }) => data.period === kind.period);
          expect(told.reduce((sum, { data }) => sum + 1 + Number(data.skipped), 0)).toBe(kind.told);
        }
      }
      shop.db.close();
    });
    await fc.assert(property, { numRuns: process.env.GW_LONG ? 1_000 : 500 / JUMPS });
  },
  PROPERTY_TIMEOUT_MS,
);
