import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createRequestIds,
  formatRequestId,
  MAX_SLOTS,
  newApiKey,
  newId,
  parseRequestId,
  requestIdAt,
  timeOfRequestId,
} from '../src/ids.ts';

const NOW = Date.UTC(2026, 4, 12, 12, 0, 0, 123);

describe('createRequestIds()', () => {
  test('makes safe integers that rise and carry their time', () => {
    const next = createRequestIds(3, () => NOW);
    const ids = Array.from({ length: 128 }, next);
    expect(ids.every(Number.isSafeInteger)).toBe(true);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(new Set(ids.map(timeOfRequestId))).toEqual(new Set([NOW]));
  });

  test('runs ahead of the clock when a millisecond is full, and still rises', () => {
    const next = createRequestIds(0, () => NOW);
    const ids = Array.from({ length: 1_000 }, next);
    expect(new Set(ids).size).toBe(1_000);
    expect(timeOfRequestId(ids.at(-1) ?? 0)).toBe(NOW + 7);
  });

  test('rises though the clock is set back', () => {
    let now = NOW;
    const next = createRequestIds(0, () => now);
    const before = next();
    now -= 3_600_000;
    expect(next()).toBeGreaterThan(before);
  });

  test('begins after the last id that was stored, though the clock is set back between two runs', () => {
    const first = createRequestIds(7, () => NOW);
    const last = Array.from({ length: 300 }, first).at(-1) ?? 0;
    const second = createRequestIds(7, () => NOW - 3_600_000, last);
    expect(second()).toBeGreaterThan(last);
    const other = createRequestIds(2, () => NOW - 3_600_000, last);
    expect(other()).toBeGreaterThan(last);
  });

  test('never makes the same in two slots', () => {
    const all = Array.from({ length: MAX_SLOTS }, (_, slot) => {
      const next = createRequestIds(slot, () => NOW);
      return Array.from({ length: 500 }, next);
    }).flat();
    expect(new Set(all).size).toBe(all.length);
  });

  test('stays within safe integers until the year 2090, and follows no clock beyond', () => {
    let now = Date.UTC(2090, 0, 1);
    const next = createRequestIds(31, () => now);
    const ids = [next()];
    now = Date.UTC(2150, 0, 1);
    ids.push(next(), next());
    expect(ids.every(Number.isSafeInteger)).toBe(true);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    const [before, after] = ids.map(timeOfRequestId);
    expect(after).toBe(before);
  });
});

describe('requestIdAt()', () => {
  test('parts the ids of before from those at or after a time', () => {
    const before = createRequestIds(31, () => NOW - 1)();
    const after = createRequestIds(0, () => NOW)();
    expect(before).toBeLessThan(requestIdAt(NOW));
    expect(after).toBeGreaterThanOrEqual(requestIdAt(NOW));
    expect(requestIdAt(0)).toBe(0);
  });
});

describe('formatRequestId() and parseRequestId()', () => {
  test('are each other’s inverse', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (id) => {
        expect(parseRequestId(formatRequestId(id))).toBe(id);
      }),
    );
  });

  test('sort as text as the ids do', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => {
        expect(formatRequestId(a) < formatRequestId(b)).toBe(a < b);
      }),
    );
  });

  test('take capitals and leave the prefix to the reader', () => {
    const text = formatRequestId(123_456_789_012);
    expect(parseRequestId(text.toUpperCase())).toBe(123_456_789_012);
    expect(parseRequestId(text.slice(4))).toBe(123_456_789_012);
  });

  test.each([
    '',
    'req_',
    'req_0',
    'req_00000000000x',
    'req_0000000000u',
    'req_zzzzzzzzzzz',
    'evt_00000000000',
  ])('find no id in %j', (text) => expect(parseRequestId(text)).toBeUndefined());
});

describe('newApiKey() and newId()', () => {
  test('carry their random bits', () => {
    expect(newApiKey(() => Buffer.alloc(32, 255))).toBe(`sk-gw-${'_'.repeat(42)}8`);
    expect(newApiKey()).toMatch(/^sk-gw-[A-Za-z0-9_-]{43}$/);
    expect(newId('evt', (bytes) => Buffer.alloc(bytes, 10))).toBe(`evt_${'0a'.repeat(16)}`);
    expect(newId('evt')).not.toBe(newId('evt'));
  });
});
