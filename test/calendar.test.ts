import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays, createCalendar, isDate, isTimezone, systemTimezone } from '../src/calendar.ts';
import { datesNearChanges, firstInstant, offsetsOf, ZONES } from './support/simulator-zones.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** All days of all zones take a minute; every 53rd, month ends and the days around clock changes take seconds. */
const STEP_DAYS = process.env.GW_LONG ? 1 : 53;

/** The dates that are compared: month ends, days near changes, and every so many between. */
function datesOf(pieces: ReturnType<typeof offsetsOf>, fromYear: number, toYear: number): Set<string> {
  const dates = new Set(datesNearChanges(pieces));
  const last = `${toYear}-12-31`;
  for (let date = `${fromYear}-01-01`; date <= last; date = addDays(date, STEP_DAYS)) dates.add(date);
  for (let date = `${fromYear}-01-01`; date <= last; date = `${addDays(date, 31).slice(0, 8)}01`) {
    dates.add(date);
    dates.add(addDays(date, -1));
  }
  return dates;
}

function compare(timezone: string, fromYear: number, toYear: number): void {
  const calendar = createCalendar(timezone);
  const pieces = offsetsOf(timezone, fromYear, toYear);
  for (const date of datesOf(pieces, fromYear, toYear)) {
    const start = firstInstant(pieces, date);
    const end = firstInstant(pieces, addDays(date, 1));
    const about = `${timezone} ${date}`;
    expect(calendar.startOfDate(date), about).toBe(start);
    if (start === end) continue; // a day that does not exist
    for (const time of [start, start + 1, Math.floor((start + end) / 2), end - 1])
      expect(calendar.day(time), `${about} at ${new Date(time).toISOString()}`).toEqual({ start, end });
    if (new Date(date).getUTCDay() === 1) {
      const week = { start, end: firstInstant(pieces, addDays(date, 7)) };
      for (const time of [week.start, week.start + 3 * DAY_MS, week.end - 1])
        expect(calendar.week(time), about).toEqual(week);
    }
    if (!date.endsWith('-01')) continue;
    const month = { start, end: firstInstant(pieces, `${addDays(date, 31).slice(0, 8)}01`) };
    for (const time of [month.start, month.start + 15 * DAY_MS, month.end - 1])
      expect(calendar.month(time), about).toEqual(month);
  }
}

describe('days, weeks and months begin where the zone’s offsets say', () => {
  test.each(ZONES)('%s, 2024 to 2035', (timezone) => compare(timezone, 2024, 2035), 60_000);

  test.each([
    ['America/Sao_Paulo', 2008, 2019, 'clocks went forward at midnight'],
    ['America/Asuncion', 2010, 2024, 'clocks went forward and back at midnight'],
    ['Asia/Beirut', 2008, 2023, 'clocks went forward at midnight'],
    ['Africa/Cairo', 2005, 2024, 'clocks went forward at midnight, some years in the middle of Ramadan'],
    ['America/St_Johns', 1988, 2011, 'clocks went back a minute after midnight: some days had two'],
    ['Pacific/Apia', 2009, 2013, 'the 30th of December 2011 was left out'],
    ['Asia/Pyongyang', 2014, 2019, 'the offset moved by half an hour, twice'],
    ['America/Caracas', 2006, 2017, 'the offset moved by half an hour, twice'],
  ])('%s, %d to %d: %s', (timezone, from, to) => compare(timezone, from, to), 60_000);
});

describe('day()', () => {
  test('is whole when the clock goes forward at midnight', () => {
    const calendar = createCalendar('America/Sao_Paulo');
    const day = calendar.day(Date.parse('2018-11-04T12:00Z'));
    expect(new Date(day.start).toISOString()).toBe('2018-11-04T03:00:00.000Z');
    expect(day.end - day.start).toBe(23 * HOUR_MS);
    expect(calendar.timeOfDay(day.start)).toBe('01:00');
  });

  test('goes from the 29th to the 31st where there was no 30th', () => {
    const calendar = createCalendar('Pacific/Apia');
    const last = calendar.day(Date.parse('2011-12-30T09:59:59Z'));
    const next = calendar.day(Date.parse('2011-12-30T10:00:00Z'));
    expect(calendar.dateOf(last.start)).toBe('2011-12-29');
    expect(calendar.dateOf(next.start)).toBe('2011-12-31');
    expect(next.start).toBe(last.end);
    expect(calendar.startOfDate('2011-12-30')).toBe(calendar.startOfDate('2011-12-31'));
  });

  test('gives every instant to exactly one day and month, wherever the clock jumps', () => {
    const spans = fc.property(
      fc.constantFrom(...ZONES, 'America/St_Johns', 'Pacific/Apia'),
      fc.array(fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2040, 0, 1) }), {
        minLength: 5,
        maxLength: 5,
      }),
      (timezone, times) => {
        const calendar = createCalendar(timezone);
        for (const time of times) {
          for (const of of [calendar.day, calendar.month]) {
            const span = of(time);
            expect(span.start).toBeLessThanOrEqual(time);
            expect(span.end).toBeGreaterThan(time);
            expect(of(span.start)).toEqual(span);
            expect(of(span.end - 1)).toEqual(span);
            expect(of(span.end).start).toBe(span.end);
            expect(of(span.start - 1).end).toBe(span.start);
          }
          expect(calendar.month(time).start).toBeLessThanOrEqual(calendar.day(time).start);
          expect(calendar.month(time).end).toBeGreaterThanOrEqual(calendar.day(time).end);
        }
      },
    );
    fc.assert(spans, { numRuns: 100 });
  }, 60_000);
});

describe('dates', () => {
  test('are checked and added to without a zone', () => {
    expect(isDate('2024-02-29')).toBe(true);
    for (const text of ['2023-02-29', '2024-13-01', '2024-1-1', '24-01-01', '0000-01-10', '', 'today'])
      expect(isDate(text)).toBe(false);
    expect(addDays('2024-02-28', 2)).toBe('2024-03-01');
    expect(addDays('2024-01-01', -1)).toBe('2023-12-31');
  });

  test('and times of day are those of the zone', () => {
    const calendar = createCalendar('Asia/Kathmandu');
    expect(calendar.dateOf(Date.parse('2026-05-12T18:15Z'))).toBe('2026-05-13');
    expect(calendar.timeOfDay(Date.parse('2026-05-12T18:15Z'))).toBe('00:00');
  });
});

describe('time zones', () => {
  test('are known by their names', () => {
    expect(isTimezone('Europe/Paris')).toBe(true);
    expect(isTimezone('Europe/Nowhere')).toBe(false);
    expect(isTimezone(systemTimezone())).toBe(true);
  });
});
