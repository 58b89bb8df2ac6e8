import { expect, onTestFinished, test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { runningPeriod, spanOf } from '../../../src/store/ledger/terms.ts';
import { eventsOf, startDaemon } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';
import { ZONES } from '../../support/simulator-zones.ts';

const HOUR_MS = 3_600_000;
const at = (text: string) => Date.parse(`${text}Z`);

/** A budget that began in one zone, on a database where another daemon now counts in a second one. */
async function moved(from: string, to: string, period: 'daily' | 'weekly' | 'monthly', start: string) {
  const shop = await openShop({ timezone: from, startMs: at(start) });
  onTestFinished(() => void shop.db.close());
  await shop.budget({ period, capNanoUsd: 100 });
  await shop.spend(100);
  const daemon = startDaemon(shop.db, { ...shop, calendar: createCalendar(to) }, 1);
  const standingAt = async (text: string) => {
    shop.clock.set(at(text));
    await daemon.ledger.roll();
    const [standing] = await daemon.ledger.standings(1);
    return { spent: standing?.posted, until: new Date(standing?.resetsAt ?? 0).toISOString().slice(0, 16) };
  };
  return { standingAt, resets: () => eventsOf(shop.db, 'budget.reset') };
}

test('a day that begins earlier in the new zone is passed over for the next', async () => {
  const { standingAt, resets } = await moved('UTC', 'Asia/Tokyo', 'daily', '2026-03-10T12:00');
  expect(await standingAt('2026-03-10T14:00')).toEqual({ spent: 100, until: '2026-03-11T15:00' });
  expect(await standingAt('2026-03-10T16:00')).toEqual({ spent: 100, until: '2026-03-11T15:00' });
  expect(await standingAt('2026-03-11T14:59')).toEqual({ spent: 100, until: '2026-03-11T15:00' });
  expect(await standingAt('2026-03-11T15:00')).toEqual({ spent: 0, until: '2026-03-12T15:00' });
  expect(resets().map(({ data }) => data.skipped)).toEqual([0]);
});

test('a day that begins later in the new zone is waited for', async () => {
  const { standingAt } = await moved('UTC', 'America/New_York', 'daily', '2026-03-10T12:00');
  expect(await standingAt('2026-03-11T03:59')).toEqual({ spent: 100, until: '2026-03-11T04:00' });
  expect(await standingAt('2026-03-11T04:00')).toEqual({ spent: 0, until: '2026-03-12T04:00' });
});

test('a week begins on Monday, and is entered when the running one would have ended', async () => {
  const { standingAt, resets } = await moved('UTC', 'Asia/Tokyo', 'weekly', '2026-03-12T12:00');
  expect(await standingAt('2026-03-15T23:59')).toEqual({ spent: 100, until: '2026-03-16T00:00' });
  expect(await standingAt('2026-03-16T00:00')).toEqual({ spent: 0, until: '2026-03-22T15:00' });
  expect(resets()).toHaveLength(1);
});

test('a week that begins later in the new zone is waited for', async () => {
  const { standingAt } = await moved('Asia/Tokyo', 'America/New_York', 'weekly', '2026-03-12T12:00');
  expect(await standingAt('2026-03-15T15:00')).toEqual({ spent: 100, until: '2026-03-16T04:00' });
  expect(await standingAt('2026-03-16T04:00')).toEqual({ spent: 0, until: '2026-03-23T04:00' });
});

test('a month that begins earlier in the new zone is entered when the running one would have ended', async () => {
  const { standingAt } = await moved('UTC', 'Asia/Tokyo', 'monthly', '2026-03-10T12:00');
  expect(await standingAt('2026-03-31T15:00')).toEqual({ spent: 100, until: '2026-04-01T00:00' });
  expect(await standingAt('2026-04-01T00:00')).toEqual({ spent: 0, until: '2026-04-30T15:00' });
});

test('a month that begins later in the new zone is waited for', async () => {
  const { standingAt } = await moved('Asia/Tokyo', 'America/New_York', 'monthly', '2026-02-10T12:00');
  expect(await standingAt('2026-02-28T16:00')).toEqual({ spent: 100, until: '2026-03-01T05:00' });
  expect(await standingAt('2026-03-01T05:00')).toEqual({ spent: 0, until: '2026-04-01T04:00' });
});

test('whoever moves every hour has no more caps than there are days, and months', () => {
  const zones = ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Asia/Kolkata', 'America/New_York', 'UTC'];
  const calendars = zones.map(createCalendar);
  const begin = at('2026-01-15T12:00');
  for (const [period, most] of [
    ['daily', 365],
    ['weekly', 53],
    ['monthly', 12],
  ] as const) {
    const [first] = calendars;
    if (!first) throw new Error('no zones');
    let currentStart = spanOf(period, begin, first).start;
    let caps = 1;
    for (let hour = 0; hour < 365 * 24; hour++) {
      const calendar = calendars[(hour * 7) % calendars.length] ?? first;
      const { start } = runningPeriod({ period, currentStart }, begin + hour * HOUR_MS, calendar);
      expect(start).toBeGreaterThanOrEqual(currentStart);
      if (start > currentStart) caps++;
      currentStart = start;
    }
    expect(caps).toBeLessThanOrEqual(most + 1);
  }
});

/** A year has every change of the clock that a zone's present rules make. */
const LAST = at(process.env.GW_LONG ? '2031-01-01T00:00' : '2026-01-01T00:00');

test.each(ZONES)('without a move, every period of %s begins on its boundary', (zone) => {
  const calendar = createCalendar(zone);
  for (let time = at('2025-01-01T00:30'); time < LAST; time += 7 * HOUR_MS) {
    for (const period of ['daily', 'weekly', 'monthly'] as const) {
      const span = spanOf(period, time, calendar);
      expect(spanOf(period, span.start, calendar)).toEqual(span);
    }
  }
});
