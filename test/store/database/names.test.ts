import { describe, expect, test } from 'vitest';
import { createNames } from '../../../src/store/database/names.ts';
import { memoryDatabase } from '../../support/simulator.ts';

describe('idOf()', () => {
  test('gives a name one id for good, and the empty name 0', async () => {
    const db = await memoryDatabase();
    const names = createNames(db);
    const id = names.idOf('gpt-5-mini');
    expect(names.idOf('gpt-5-mini')).toBe(id);
    expect(names.idOf('')).toBe(0);
    names.settle(true);
    expect(names.idOf('gpt-5-mini')).toBe(id);
    expect(createNames(db).idOf('gpt-5-mini')).toBe(id);
  });

  test('forgets an id whose transaction was rolled back', async () => {
    const db = await memoryDatabase();
    const names = createNames(db);
    db.exec('BEGIN IMMEDIATE');
    const lost = names.idOf('never was');
    db.exec('ROLLBACK');
    names.settle(false);
    const other = createNames(db).idOf('someone else');
    expect(other).toBe(lost);
    expect(names.idOf('never was')).not.toBe(lost);
  });

  test('cuts a name that is too long, whatever its letters', async () => {
    const db = await memoryDatabase();
    const names = createNames(db);
    expect(names.idOf('x'.repeat(1_000))).toBe(names.idOf('x'.repeat(200)));
    expect(names.idOf(`${'x'.repeat(199)}😀`)).toBe(names.idOf(`${'x'.repeat(199)}😀`));
    const longest = db.prepare('SELECT max(length(name)) FROM names').pluck().get();
    expect(longest).toBe(200);
  });

  test('works on when thousands of names were seen', async () => {
    const db = await memoryDatabase();
    const names = createNames(db);
    const ids = Array.from({ length: 10_050 }, (_, i) => names.idOf(`m${i}`));
    names.settle(true);
    expect(names.idOf('one more')).toBeGreaterThan(0);
    names.settle(true);
    expect(names.idOf('m7')).toBe(ids[7]);
  });
});
