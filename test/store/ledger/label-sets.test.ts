import { expect, test } from 'vitest';
import type { Labels } from '../../../src/labels.ts';
import { createLabelSets } from '../../../src/store/ledger/label-sets.ts';
import { memoryDatabase } from '../../support/simulator.ts';

const of = (labels: Record<string, string>): Labels => new Map(Object.entries(labels));

async function labelSets() {
  const db = await memoryDatabase();
  const sets = createLabelSets(db);
  const stored = (id: number) => db.prepare('SELECT labels FROM label_sets WHERE id = ?').pluck().get(id);
  const rows = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  return { db, sets, stored, rows };
}

test('a set has one id in a project, and other projects have others', async () => {
  const { db, sets, stored } = await labelSets();
  const id = sets.idOf(1, of({ customer: 'acme' }));
  expect(stored(id)).toBe('{"customer":"acme"}');
  expect(sets.idOf(1, of({ customer: 'acme' }))).toBe(id);
  expect(sets.idOf(2, of({ customer: 'acme' }))).not.toBe(id);
  expect([sets.idOf(1, undefined), sets.idOf(1, of({}))]).toEqual([0, 0]);
  expect(createLabelSets(db).idOf(1, of({ customer: 'acme' }))).toBe(id);
});

test('a label with thousands of values folds the rest into other, also after a restart', async () => {
  const { db, sets, stored, rows } = await labelSets();
  for (let i = 0; i < 1_500; i++) sets.idOf(1, of({ run: `r${i}`, team: 'a' }));
  expect([rows('label_values'), rows('label_sets')]).toEqual([1_001, 1_001]);
  const again = createLabelSets(db);
  expect(stored(again.idOf(1, of({ run: 'r7', team: 'a' })))).toBe('{"run":"r7","team":"a"}');
  expect(stored(again.idOf(1, of({ run: 'r1400', team: 'b' })))).toBe('{"run":"other","team":"b"}');
  expect(again.valueOf(1, of({ run: 'r1400' }), 'run')).toBe('other');
  expect(again.valueOf(1, of({ run: 'r7' }), 'run')).toBe('r7');
  expect(again.valueOf(1, of({ run: 'r7' }), 'team')).toBe('');
});

test('names and combinations are bounded as well', async () => {
  const { sets, stored, rows } = await labelSets();
  for (let i = 0; i < 150; i++) sets.idOf(1, of({ [`n${i}`]: 'x' }));
  expect(stored(sets.idOf(1, of({ n149: 'x' })))).toBe('{"other":"other"}');
  for (let a = 0; a < 120; a++) for (let b = 0; b < 100; b++) sets.idOf(1, of({ n1: `${a}`, n2: `${b}` }));
  expect(rows('label_sets')).toBe(10_000);
  expect(stored(sets.idOf(1, of({ n1: '119', n2: '99' })))).toBe('{"other":"other"}');
});

test('a set of a transaction that was rolled back is made anew', async () => {
  const { db, sets, stored } = await labelSets();
  db.exec('BEGIN');
  sets.idOf(1, of({ customer: 'acme' }));
  db.exec('ROLLBACK');
  sets.settle(false);
  expect(stored(sets.idOf(1, of({ customer: 'acme' })))).toBe('{"customer":"acme"}');
});
