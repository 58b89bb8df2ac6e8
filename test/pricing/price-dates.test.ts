import { describe, expect, test } from 'vitest';
import { priceDates } from '../../src/pricing/price-dates.ts';

const HOUR_MS = 3_600_000;
const at = (text: string) => Date.parse(text);
const iso = (timesMs: number[]) => timesMs.map((timeMs) => new Date(timeMs).toISOString()).sort();

const fromJune = [
  { prices: { input_mtok: 1 } },
  { constraint: { type: 'start_date' as const, start_date: '2026-06-10' }, prices: { input_mtok: 2 } },
];
const byDay = [
  { prices: { input_mtok: 1 } },
  {
    constraint: { type: 'time_of_date' as const, start_time: '00:30:00Z', end_time: '16:30:00Z' },
    prices: { input_mtok: 2 },
  },
];

describe('priceDates()', () => {
  test('never ends for prices without dates', () => {
    expect(priceDates([], 0)).toEqual({ untilMs: Infinity, upcomingMs: [] });
    expect(priceDates(fromJune, at('2026-06-10'))).toEqual({ untilMs: Infinity, upcomingMs: [] });
  });

  test('does not look further ahead to a start date than a request may run', () => {
    expect(priceDates(fromJune, at('2026-01-01'))).toEqual({
      untilMs: at('2026-06-09T21:45:00Z'),
      upcomingMs: [],
    });
  });

  test('looks ahead to a start date within the longest call and its wait', () => {
    const { untilMs, upcomingMs } = priceDates(fromJune, at('2026-06-09T21:45:00Z'));
    expect(untilMs).toBe(at('2026-06-10'));
    expect(iso(upcomingMs)).toEqual(['2026-06-10T00:00:00.000Z']);
  });

  test('looks ahead to a time of day from two hours and a quarter before it', () => {
    const lookAt = (time: string) => {
      const { untilMs, upcomingMs } = priceDates(byDay, at(`2026-11-20T${time}Z`));
      return [iso([untilMs]), iso(upcomingMs)].flat();
    };
    expect(lookAt('10:00:00')).toEqual(['2026-11-20T14:15:00.000Z']);
    expect(lookAt('14:15:00')).toEqual(['2026-11-20T16:30:00.000Z', '2026-11-20T16:30:00.000Z']);
    expect(lookAt('16:30:00')).toEqual(['2026-11-20T22:15:00.000Z']);
    expect(lookAt('22:15:00')).toEqual(['2026-11-21T00:30:00.000Z', '2026-11-21T00:30:00.000Z']);
  });

  test('counts a time of day from its first millisecond', () => {
    expect(priceDates(byDay, at('2026-11-20T16:30:00Z')).untilMs).toBe(at('2026-11-20T22:15:00Z'));
    expect(priceDates(byDay, at('2026-11-20T16:30:00Z') - 1).untilMs).toBe(at('2026-11-20T16:30:00Z'));
  });

  test('reads a time of day with an offset', () => {
    const constraint = {
      type: 'time_of_date' as const,
      start_time: '09:00:00+08:00',
      end_time: '12:00:00+08:00',
    };
    const { untilMs } = priceDates([{ constraint, prices: {} }], at('2026-11-20T00:00:00Z'));
    expect(untilMs).toBe(at('2026-11-20T00:00:00Z') + HOUR_MS);
  });
});
