import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays } from '../../../src/calendar.ts';
import { eventsOf, PROPERTY_TIMEOUT_MS } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';
import { firstInstant, offsetsOf, ZONES } from '../../support/simulator-zones.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const JUMPS = 25;

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
const monthsBetween = (from: string, to: string) =>
  (Number(to.slice(0, 4)) - Number(from.slice(0, 4))) * 12 +
  Number(to.slice(5, 7)) -
  Number(from.slice(5, 7));

test(
  'over 500 jumps of the clock, periods only ever move on, and each boundary is told once',
  async () => {
    const property = fc.asyncProperty(fc.constantFrom(...ZONES), jumps, async (timezone, all) => {
      const start = Date.UTC(2026, 0, 15, 12);
      const shop = await openShop({ timezone, startMs: start });
      const pieces = offsetsOf(timezone, 2025, 2033);
      await shop.budget({ period: 'daily', capNanoUsd: 1 });
      await shop.budget({ period: 'monthly', capNanoUsd: 1 });
      await shop.budget({ period: 'weekly', capNanoUsd: 1 });
      const first = dateAt(pieces, start);
      let now = start;
      let latest = start;
      for (const jump of all) {
        now = Math.max(start, now + jump);
        latest = Math.max(latest, now);
        shop.clock.set(now);
        await shop.daemon.ledger.roll();
        const reached = dateAt(pieces, latest);
        const [daily, monthly, weekly] = await shop.standings();
        expect(daily?.budget.currentStart).toBe(firstInstant(pieces, reached));
        expect(monthly?.budget.currentStart).toBe(firstInstant(pieces, `${reached.slice(0, 8)}01`));
        expect(weekly?.budget.currentStart).toBe(firstInstant(pieces, mondayOf(reached)));
        const told = (period: string) =>
          eventsOf(shop.db, 'budget.reset')
            .filter(({ data }) => data.period === period)
            .reduce((sum, { data }) => sum + 1 + Number(data.skipped), 0);
        expect(told('daily')).toBe(daysBetween(first, reached));
        expect(told('weekly')).toBe(daysBetween(mondayOf(first), mondayOf(reached)) / 7);
        expect(told('monthly')).toBe(monthsBetween(first, reached));
      }
      shop.db.close();
    });
    await fc.assert(property, { numRuns: process.env.GW_LONG ? 1_000 : 500 / JUMPS });
  },
  PROPERTY_TIMEOUT_MS,
);
