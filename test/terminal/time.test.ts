import { expect, test } from 'vitest';
import { createTimeFormat, duration, parseDuration } from '../../src/terminal/time.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600_000;

test('times are in the configured zone', () => {
  const times = createTimeFormat('Asia/Tokyo');
  expect(times.time(NOON)).toBe('21:00:00');
  expect(times.dateTime(NOON + 5 * HOUR)).toBe('2026-01-02 02:00:00');
});

test('moment() uses the shortest unambiguous form', () => {
  const { moment } = createTimeFormat('Europe/Paris');
  expect(moment(NOON + 2 * HOUR, NOON)).toBe('15:00');
  expect(moment(NOON + 50 * HOUR, NOON)).toBe('Sat 15:00');
  expect(moment(NOON + 30 * 24 * HOUR, NOON)).toBe('Jan 31');
});

test.each([
  ['90s', 90_000],
  ['1h', HOUR],
  ['hour', HOUR],
  ['30 minutes', HOUR / 2],
  ['0.5h', HOUR / 2],
  ['7d', 7 * 24 * HOUR],
  ['2 weeks', 14 * 24 * HOUR],
  ['5ms', undefined],
  ['toString', undefined],
  ['', undefined],
  ['soon', undefined],
])('parseDuration(%j) is %s', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test('duration() uses the two largest units', () => {
  expect([812, 45_000, 125_000, 8_040_000, 93_600_000, HOUR].map(duration)).toEqual([
    '812ms',
    '45s',
    '2m05s',
    '2h14m',
    '1d02h',
    '1h',
  ]);
});
