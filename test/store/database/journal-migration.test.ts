import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { type Db, openDatabase } from '../../../src/store/database/open.ts';
import { usageReport, usageTrends } from '../../../src/store/reports/usage-report.ts';
import { listRequests } from '../../../src/store/requests/request-log.ts';
import { makeOldDatabase } from '../../support/database-0-1-0.mjs';
import { temporaryDirectory } from '../../support/simulator.ts';
import { checkFile } from '../../support/simulator-check.ts';

const SPAN = { from: '2026-01-01', to: '2026-12-31' };
const dist = new URL('../../../dist/store/database/open.js', import.meta.url);
const FIGURES = `sum(requests) AS requests, sum(blocked_requests) AS blockedRequests,
  sum(failed_requests) AS failedRequests, sum(unpriced_requests) AS unpricedRequests, sum(input_tokens) AS inputTokens,
  sum(cached_input_tokens) AS cachedInputTokens, sum(cache_write_tokens) AS cacheWriteTokens,
  sum(output_tokens) AS outputTokens, sum(reasoning_tokens) AS reasoningTokens, sum(saved_tokens) AS savedTokens,
  sum(cost_nano_usd) AS costNanoUsd, sum(saved_nano_usd) AS savedNanoUsd,
  0 AS missedTokens, 0 AS missedNanoUsd, 0 AS replayedRequests`;

type Rows = Record<string, Record<string, number>>;

/** The figures of 0.1.0, read from its tables by queries of this test alone. */
function oldFigures(db: Database.Database) {
  const rows = (key: string, from: string): Rows => {
    const found = db.prepare(`SELECT ${key} AS key, ${FIGURES} FROM ${from} GROUP BY 1`).all();
    return byKey(found as { key: string }[]);
  };
  const total = db.prepare(`SELECT ${FIGURES} FROM usage_hours`).get() as Record<string, number>;
  const caller = (kind: string): Rows => {
    const known = rows('n.name', `usage_origins JOIN names n ON n.id = ${kind}_id WHERE n.id <> 0`);
    const unknown = { ...total };
    for (const row of Object.values(known))
      for (const name of Object.keys(unknown)) unknown[name] = (unknown[name] ?? 0) - (row[name] ?? 0);
    return { ...known, unknown };
  };
  return {
    day: rows("date(bucket / 1000, 'unixepoch')", 'usage_hours'),
    dayInKolkata: rows("date(bucket / 1000 + 19800, 'unixepoch')", 'usage_hours'),
    model: rows(
      "iif(m.name LIKE v.name || '/%', m.name, v.name || '/' || m.name)",
      'usage_hours JOIN names v ON v.id = provider_id JOIN names m ON m.id = model_id',
    ),
    project: rows('p.name', 'usage_hours JOIN projects p ON p.id = project_id'),
    process: caller('process'),
    repo: caller('repo'),
    records: db.prepare('SELECT id, cost_nano_usd, detail, status FROM requests ORDER BY id DESC').all(),
  };
}

async function newFigures(db: Db) {
  const report = async (groupBy: 'day' | 'model' | 'project' | 'process' | 'repo', zone = 'UTC') =>
    byKey((await usageReport(db, createCalendar(zone), { ...SPAN, groupBy })).rows);
  const requests = await listRequests(db, { limit: 1_000_000 });
  return {
    day: await report('day'),
    dayInKolkata: await report('day', 'Asia/Kolkata'),
    model: await report('model'),
    project: await report('project'),
    process: await report('process'),
    repo: await report('repo'),
    records: requests.map(({ id, costNanoUsd, detail, status }) => ({
      id,
      cost_nano_usd: costNanoUsd,
      detail: Object.keys(detail).length === 0 ? null : JSON.stringify(detail),
      status,
    })),
  };
}

function byKey(rows: { key: string }[]): Rows {
  return Object.fromEntries(rows.map(({ key, ...figures }) => [key, figures as Record<string, number>]));
}

test.each([
  ['whose records are all kept', 0],
  ['whose oldest records are deleted', 1_500],
])('a database of 0.1.0 %s gives the figures of before', async (_name, pruned) => {
  const path = join(temporaryDirectory(), 'gw.db');
  const old = makeOldDatabase(path, { requests: 4_000, pruned });
  const before = oldFigures(old);
  old.close();
  const db = await openDatabase(path);
  expect(await newFigures(db)).toEqual(before);
  // A month's spend by day, of the callers alone.
  const trends = await usageTrends(db, createCalendar('UTC'), {
    from: '2026-03-01',
    to: '2026-03-31',
    groupBy: 'repo',
  });
  expect([...(trends?.keys() ?? [])].sort()).toEqual(['/srv/shop', '/srv/web']);
  // The hold of a daemon that was killed before the update is still open.
  expect(db.prepare('SELECT hold_nano_usd, charges, flags FROM open_holds').all()).toEqual([
    { hold_nano_usd: 70, charges: `[[1,${Date.UTC(2026, 2, 1)}]]`, flags: 1 },
  ]);
  const exact = db.prepare('SELECT count(*) FROM usage_dims WHERE process_id > 0 AND model_id > 0').pluck();
  expect(exact.get()).toBeGreaterThan(0);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  db.close();
});

test('what providers store belongs to the only project that had used them before the update', async () => {
  const path = join(temporaryDirectory(), 'gw.db');
  const old = makeOldDatabase(path, { requests: 400 });
  // One provider of each project alone, beside those that several share.
  const [first, second] = old.prepare('SELECT id FROM projects ORDER BY id').pluck().all() as number[];
  const figures = (old.pragma('table_info(usage_hours)') as { name: string }[])
    .map(({ name }) => name)
    .filter((name) => !['bucket', 'project_id', 'provider_id', 'model_id'].includes(name));
  for (const [name, project] of [
    ['own-1', first],
    ['own-2', second],
  ] as const) {
    const { lastInsertRowid } = old.prepare('INSERT INTO names (name) VALUES (?)').run(name);
    old
      .prepare(
        `INSERT INTO usage_hours (bucket, project_id, provider_id, model_id, ${figures.join(', ')})
         SELECT bucket, ?, ?, model_id, ${figures.join(', ')} FROM usage_hours LIMIT 1`,
      )
      .run(project, lastInsertRowid);
  }
  const expected = old
    .prepare(
      `SELECT n.name AS provider, min(project_id) AS project_id FROM usage_hours JOIN names n ON n.id = provider_id
       WHERE n.name <> '' GROUP BY n.name HAVING count(DISTINCT project_id) = 1 ORDER BY 1`,
    )
    .all();
  old.close();
  const db = await openDatabase(path);
  expect(db.prepare('SELECT provider, project_id FROM object_claims ORDER BY 1').all()).toEqual(expected);
  expect(expected).toMatchObject([
    { provider: 'own-1', project_id: first },
    { provider: 'own-2', project_id: second },
  ]);
  expect(db.prepare('SELECT count(*) FROM objects').pluck().get()).toBe(0);
  db.close();
});

test('the migration of a killed process is done by the next', async () => {
  const directory = temporaryDirectory();
  const original = join(directory, 'old.db');
  const old = makeOldDatabase(original, { requests: 8_000 });
  const before = oldFigures(old);
  old.pragma('wal_checkpoint(TRUNCATE)');
  old.close();
  const kills = process.env.GW_LONG ? 40 : 4;
  for (let i = 0; i < kills; i++) {
    const path = join(directory, `gw-${i}.db`);
    copyFileSync(original, path);
    const script = `console.log('go'); const { openDatabase } = await import(${JSON.stringify(dist.href)});
      console.log('open'); await openDatabase(${JSON.stringify(path)});`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    const ended = once(child, 'close');
    let text = '';
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk;
        if (text.includes('open')) resolve();
      });
    });
    await pause((i * 1_500) / kills);
    child.kill('SIGKILL');
    await ended;
    const db = await openDatabase(path);
    expect(await newFigures(db), `killed after ${(i * 1_500) / kills} ms`).toEqual(before);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    db.close();
  }
}, 300_000);

test.runIf(process.env.GW_LONG)(
  'a million requests migrate in less than a minute',
  async () => {
    const path = join(temporaryDirectory(), 'gw.db');
    const old = makeOldDatabase(path, { requests: 1_000_000 });
    const { records, ...before } = oldFigures(old);
    old.close();
    const started = performance.now();
    const db = await openDatabase(path);
    const seconds = (performance.now() - started) / 1_000;
    console.log(`migrated ${records.length} requests in ${seconds.toFixed(1)} s`);
    expect(seconds).toBeLessThan(60);
    const { records: kept, ...after } = await newFigures(db);
    expect(after).toEqual(before);
    expect(kept).toHaveLength(records.length);
    checkFile(db);
  },
  600_000,
);
