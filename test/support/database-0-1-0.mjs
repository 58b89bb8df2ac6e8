// A database as gw 0.1.0 left it, with its schema (migrations 0000 to 0005), `requests` records and the rollups that
// its daemon kept. Usage: node test/support/database-0-1-0.mjs FILE REQUESTS
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';

const MIGRATIONS = new URL('../../src/store/migrations', import.meta.url);
const DAY_MS = 86_400_000;
/** Milliseconds of request id 0. */
const EPOCH_MS = Date.UTC(2025, 0, 1);
const CUTS = [150, 210, 570, 615, 675, 810, 870, 915, 1050, 1095, 1110, 1170, 1230];
const FIGURES = `count(*), sum(outcome = 1), sum(outcome IN (2, 3, 5, 6)), sum((flags & 4) <> 0), sum(input_tokens),
  sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(saved_tokens),
  sum(cost_nano_usd), sum(saved_nano_usd)`;

/** Returns the database, open. Its requests are of the `days` days from `start` on; the first `pruned` are deleted. */
export function makeOldDatabase(file, { requests, days = 60, start = Date.UTC(2026, 2, 1), pruned = 0 }) {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  migrateTo(db, 6);
  db.exec('BEGIN');
  for (const name of ['default', 'web', 'ci'])
    db.prepare('INSERT INTO projects (name, created_at) VALUES (?, 0)').run(name);
  for (const [i, hint] of ['aaaa', 'bbbb', 'cccc'].entries())
    db.prepare(`INSERT INTO keys (project_id, hash, hint, admin, created_at) VALUES (?, ?, ?, 0, 0)`).run(
      1 + i,
      Buffer.from(hint),
      hint,
    );
  const names = [
    'chat/completions',
    'openai',
    'anthropic',
    'gpt-5',
    'openai/gpt-5',
    'claude',
    'codex',
    '/srv/shop',
    '/srv/web',
  ];
  for (const name of names) db.prepare('INSERT INTO names (name) VALUES (?)').run(name);
  insertRequests(db, { requests, days, start });
  rollUp(db, { days, start });
  db.prepare('DELETE FROM requests WHERE id IN (SELECT id FROM requests ORDER BY id LIMIT ?)').run(pruned);
  db.prepare(`INSERT INTO budgets (project_id, period, cap_nano_usd, alert_percent, cap_version, current_start, created_at)
    VALUES (1, 'daily', 1000000000, 80, 1, ?, 0)`).run(start);
  db.prepare('INSERT INTO budget_periods VALUES (1, ?, 5, 70, 0, 0)').run(start);
  db.prepare(`INSERT INTO holds VALUES (?, 0, 1, 1, 1, 2, 4, 4, 1, 70, ?, 7, 8)`).run(
    (start - EPOCH_MS + days * DAY_MS) * 4_096,
    JSON.stringify([[1, start]]),
  );
  db.exec('COMMIT');
  return db;
}

function migrateTo(db, count) {
  const folder = mkdtempSync(join(tmpdir(), 'gw-0-1-0-'));
  cpSync(MIGRATIONS, folder, { recursive: true });
  const journal = join(folder, 'meta', '_journal.json');
  const { entries, ...rest } = JSON.parse(readFileSync(journal, 'utf8'));
  writeFileSync(journal, JSON.stringify({ ...rest, entries: entries.slice(0, count) }));
  migrate(drizzle(db), { migrationsFolder: folder });
  rmSync(folder, { recursive: true });
  db.pragma(`user_version = ${count}`);
}

/** Numbers that look random and are the same in each run. */
function insertRequests(db, { requests, days, start }) {
  const insert = db.prepare(`WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?),
    r AS MATERIALIZED (SELECT i, i * 2654435761 % 4294967296 AS a, i * 40503 % 65536 AS b FROM n)
    INSERT INTO requests SELECT CAST(? + i * ? AS INTEGER), 1 + a % 3, 1 + a % 3, 1, 2 + b % 2, 4 + b % 3, 4 + a % 2,
    iif(a % 20 = 0, 402, 200), iif(a % 20 = 0, 1, iif(b % 50 = 0, 2, 0)), iif(b % 70 = 0, 5, 1), a % 20000, a % 10000,
    b % 100, b % 2000, b % 300, a % 500, a % 20000 * 150 + b % 2000 * 600, a % 1000, 90000000, 200 + b % 30000,
    100 + b % 200, iif(b % 10 = 0, '{"error":"upstream_error"}', NULL), iif(a % 3 = 0, 7, 0), iif(a % 3 = 0, 8 + b % 2, 0) FROM r`);
  const first = (start - EPOCH_MS) * 4_096;
  const step = (days * DAY_MS * 4_096) / requests;
  for (let i = 0; i < requests; i += 100_000) insert.run(i, Math.min(i + 100_000, requests) - 1, first, step);
}

function rollUp(db, { days, start }) {
  const hours = db.prepare(`INSERT INTO usage_hours SELECT ?, project_id, provider_id, model_id, ${FIGURES}
    FROM requests WHERE id >= ? AND id < ? GROUP BY 2, 3, 4`);
  const origins = db.prepare(`INSERT INTO usage_origins SELECT ?, project_id, process_id, repo_id, ${FIGURES}
    FROM requests WHERE id >= ? AND id < ? AND process_id + repo_id > 0 GROUP BY 2, 3, 4`);
  const idAt = (time) => (time - EPOCH_MS) * 4_096;
  const starts = [...Array.from({ length: 24 }, (_, hour) => hour * 60), ...CUTS].sort((a, b) => a - b);
  for (let day = start; day < start + days * DAY_MS; day += DAY_MS) {
    for (const [i, minute] of starts.entries()) {
      const from = day + minute * 60_000;
      const to = day + (starts[i + 1] ?? 1_440) * 60_000;
      for (const statement of [hours, origins]) statement.run(from, idAt(from), idAt(to));
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [file, requests] = process.argv.slice(2);
  makeOldDatabase(file, { requests: Number(requests) }).close();
}
