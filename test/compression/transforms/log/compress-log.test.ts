import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeLog } from '../../../../src/compression/transforms/log/encode.ts';
import { withoutPadding } from '../../canonical.ts';
import { decodeLog } from '../../decode/log.ts';

const value = fc.oneof(
  fc.integer({ min: 0, max: 300 }).map(String),
  fc.constantFrom(
    '"',
    '.5',
    '"x',
    '.hidden',
    '~7',
    ':05',
    '@1',
    '*',
    '^',
    '',
    ' ',
    'blk_7',
    'a=b',
    '10.0.0.1:80',
    '\u00a0',
    '\t',
    'x|y',
    '@',
    '@2 =',
    '-05',
    '2024-05-01',
    'a--07-01',
  ),
  fc.string({ maxLength: 6 }).map((text) => text.replace(/[\n\r]/g, '')),
);
const line = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 7200 }), value, value)
  .map(([kind, s, a, b]) => {
    const time = `10:${String(Math.floor(s / 60) % 60).padStart(2, '0')}:${String(s % 60).padStart(2, '0')}.${s % 1000}`;
    return [
      `2024-05-01 ${time} INFO  worker ${a} took job ${b}`,
      `2024-05-01 ${time} WARN disk ${a} at ${b} %`,
      `2024-0${1 + (s % 3)}-${10 + (s % 20)} ${time} ${a} -0700 ${b}`,
      `${time}: ${a}${b}`,
      `${a} ${b}`,
    ][kind];
  });

describe('encodeLog()', () => {
  it('is read back line by line by decodeLog(), for 10,000 logs', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
        const text = lines.join('\n');
        const encoded = encodeLog(text);
        if (encoded) expect(withoutPadding(decodeLog(encoded.text))).toBe(withoutPadding(text));
      }),
      { numRuns: process.env.GW_LONG ? 10_000 : 2_000 },
    );
  });

  it('leaves every date and time where it was written with `keepTimes`, for 10,000 logs', {
    timeout: 60_000,
  }, () => {
    const times = (text: string) => text.match(/\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d\.\d+/g) ?? [];
    let encodedLogs = 0;
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
        const text = lines.join('\n');
        const encoded = encodeLog(text, { keepTimes: true });
        if (!encoded) return;
        encodedLogs++;
        expect(withoutPadding(decodeLog(encoded.text))).toBe(withoutPadding(text));
        expect(times(encoded.text)).toEqual(times(text));
      }),
      { numRuns: process.env.GW_LONG ? 10_000 : 2_000 },
    );
    expect(encodedLogs).toBeGreaterThan(1000);
  });

  it('says a repeated line once and then only what changes', () => {
    const text = [11, 12, 13, 14]
      .map((id) => `09:00:${id}.000 INFO got https://a.example/x${id} ok`)
      .join('\n');
    expect(encodeLog(text)?.text.split('\n').slice(1)).toEqual([
      '@1 = 09:00:* INFO got https://a.example/* ok',
      '@1 11.000 x11',
      '~12.000 x12',
      '~13.000 x13',
      '~14.000 x14',
    ]);
  });

  it('leaves a line that must be kept as it is', () => {
    const text = Array.from({ length: 9 }, (_, i) => `09:00:0${i} worker ${i} done`).join('\n');
    const encoded = encodeLog(text, { keepLine: (kept) => kept.includes('worker 5') });
    expect(encoded?.text.split('\n')).toContain('09:00:05 worker 5 done');
  });
});

describe('a log whose dates are spelled in words', () => {
  const lines = (line: (i: number) => string) => Array.from({ length: 24 }, (_, i) => line(i));
  const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
  const day = (i: number) => 1 + (i >> 2);
  const clock = (i: number) => `10:${10 + i}:0${i % 10}`;
  const dates: [string, (i: number) => string, (i: number) => string][] = [
    ['git log', (i) => `${days[(i >> 2) % 7]} Nov ${day(i)} ${clock(i)} 2026 +0200`, (i) => `Date:   $ ${i}`],
    [
      'ls -l',
      (i) => `Nov ${10 + day(i)} 10:${10 + i}`,
      (i) => `-rw-r--r-- 1 root root ${i * 37} $ file-${i}.ts`,
    ],
    [
      'ls -l of an old file',
      (i) => `Nov ${10 + day(i)} 2024`,
      (i) => `-rw-r--r-- 1 root root ${i * 37} $ file-${i}.ts`,
    ],
    [
      'syslog',
      (i) => `Nov ${10 + day(i)} ${clock(i)}`,
      (i) => `$ host sshd[12${i}]: session opened for user u${i}`,
    ],
    ['HTTP', (i) => `Tue, ${10 + day(i)} Nov 2026 ${clock(i)} GMT`, (i) => `10.0.0.${i} GET /a/${i} $ ok`],
    ['date(1)', (i) => `Tue Nov ${10 + day(i)} ${clock(i)} UTC 2026`, (i) => `${i}: started at $ by cron`],
    ['full names', (i) => `November ${day(i)}, 2026`, (i) => `entry ${i} of $ was kept`],
    ['a day first', (i) => `${day(i)} December 2026`, (i) => `entry ${i} of $ was kept`],
    [
      'names in small letters',
      (i) => `tue nov ${10 + day(i)} ${clock(i)} 2026`,
      (i) => `item ${i} at $ done`,
    ],
    ['names in capitals', (i) => `${10 + day(i)} NOV 2026 ${clock(i)}`, (i) => `item ${i} at $ done`],
    ['a router', (i) => `*Nov ${10 + day(i)} ${clock(i)}.123:`, (i) => `$ %LINK-3-UPDOWN: port ${i} is up`],
    ['grep', (i) => `Nov ${10 + day(i)} ${clock(i)}`, (i) => `/var/log/syslog:${i}:$ host app: step`],
    ['a distance from UTC', (i) => `${10 + day(i)} Nov 2026 ${clock(i)} UTC+2`, (i) => `item ${i} at $ done`],
    ['a region', (i) => `2026-11-24 ${clock(i)}.123 America/New_York`, (i) => `$ [12] LOG: item ${i}`],
    ['Python', (i) => `2026-11-24 10:00:0${i % 10},${100 + i}`, (i) => `$ INFO worker ${i} done`],
    [
      'Python with one millisecond for all',
      (i) => `2026-11-24 10:00:0${i % 10},123`,
      (i) => `$ INFO worker ${i} done`,
    ],
    ['log4j', (i) => `[10:${10 + i}:00,${100 + i}]`, (i) => `$ WARN thread-${i} waited`],
    ['words between', (i) => `Nov ${10 + day(i)} at 10:${10 + i}`, (i) => `item ${i} on $ done`],
    [
      'last',
      (i) => `Tue Nov ${10 + day(i)} 10:${10 + i} - 11:${10 + i}`,
      (i) => `u${i} pts/${i} $ (00:0${i % 10})`,
    ],
    [
      'a clock with a half of the day',
      (i) => `2026-11-0${day(i)} 10:${10 + i} PM`,
      (i) => `$ worker ${i} ended`,
    ],
  ];

  it.each(dates)('keeps each date of %s as it was written', (_, date, line) => {
    const log = lines((i) => line(i).replace('$', date(i)));
    const { text } = encodeLog(log.join('\n'), { keepTimes: true }) ?? { text: '' };
    for (let i = 0; i < log.length; i++) expect(text).toContain(date(i));
    expect(decodeLog(text).split('\n').map(withoutPadding)).toEqual(log.map(withoutPadding));
  });
});
