import { expect, test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { createArchive } from '../../../src/store/archive/archive.ts';
import { setBudget } from '../../../src/store/budgets/budgets.ts';
import type { Db } from '../../../src/store/database/open.ts';
import { createLedger } from '../../../src/store/ledger/ledger.ts';
import {
  addProjects,
  admissionOf,
  countedRandom,
  createSetClock,
  fileDatabase,
  NOON,
  openFast,
  recordOf,
} from '../../support/simulator.ts';

const REQUESTS = 512;
const NEED = {
  inputTokens: 40,
  inputBound: 'bytes',
  outputTokens: 16_384,
  outputAskedTokens: null,
  inputNanoUsd: 40_000,
  outputNanoUsd: 32_768_000,
  feesNanoUsd: 0,
} as const;

/** Pages in the write-ahead log, which is never written back here. */
const pagesIn = (db: Db) => (db.pragma('wal_checkpoint(NOOP)') as { log: number }[])[0]?.log ?? 0;

test('a request writes few pages: hold, record, balance, and its share of the archive', async () => {
  const db = await openFast(await fileDatabase());
  db.pragma('wal_autocheckpoint = 0');
  addProjects(db, 1);
  const calendar = createCalendar('UTC');
  const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
  await setBudget(db, project, { period: 'daily', capNanoUsd: 1e15 }, { calendar, now: NOON });
  const clock = createSetClock();
  const ledger = createLedger({
    db,
    clock,
    calendar: () => calendar,
    slot: 0,
    random: countedRandom('pages'),
  });
  const archive = createArchive(db);
  const first = pagesIn(db);
  let archived = 0;
  for (let i = 0; i < REQUESTS; i++) {
    clock.set(NOON + i * 10);
    const id = (NOON + i * 10 - Date.UTC(2025, 0, 1)) * 4_096;
    await ledger.admit(admissionOf(id, 32_808_000, { needOf: () => NEED }));
    const usage = { ...recordOf(0).usage, inputTokens: 12, outputTokens: 30 };
    const timings = { body: 0.1, compressed: 0.2, held: 0.4, sent: 0.5 };
    ledger.settleLate(recordOf(id, { costNanoUsd: 72_000, usage, firstByteMs: 3, durationMs: 4, timings }));
    if (i % 256 !== 255) continue;
    const before = pagesIn(db);
    await ledger.writeApart(() => archive.takeOver(clock.now()));
    archived += pagesIn(db) - before;
  }
  const pages = (pagesIn(db) - first) / REQUESTS;
  console.log(`${pages.toFixed(2)} pages a request, ${(archived / REQUESTS).toFixed(2)} of them archived`);
  expect(pages).toBeLessThan(2.3);
  db.close();
});
