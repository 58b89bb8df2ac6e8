// A database with many requests over some time, as a daemon would have left it: what lists, reports and pages are timed on.
import { existsSync } from 'node:fs';
import { requestIdAt } from '../../dist/ids.js';
import { SESSION_FIGURES, SESSION_SUMS } from '../../dist/store/archive/rollups.js';
import { createUsageSums } from '../../dist/store/archive/usage-sums.js';
import { columnName } from '../../dist/store/database/columns.js';
import { openDatabase } from '../../dist/store/database/open.js';
import { bucketOf } from '../../dist/store/database/usage-bucket.js';

export const DAY_MS = 86_400_000;
// The first year that a request id can be of.
export const START = Date.UTC(2025, 0, 1);
export const PROJECTS = 50;
export const MODELS = 20;
export const SESSIONS = 1_000;
const DAYS = 1_095;
export const END = START + DAYS * DAY_MS;

/** Opens the database in `file`, and makes it if there is none, with requests over three years or another span. */
export async function openBigDatabase(file, requests, span = { start: START, end: END }) {
  const isNew = !existsSync(file);
  const db = await openDatabase(file);
  db.pragma('synchronous = OFF');
  if (!isNew) return db;
  addNames(db);
  addRequests(db, requests, span);
  rollUp(db, span);
  db.pragma('wal_checkpoint(TRUNCATE)');
  return db;
}

function addNames(db) {
  const addProject = db.prepare('INSERT OR IGNORE INTO projects (name, created_at) VALUES (?, 0)');
  for (let i = 0; i < PROJECTS; i++) addProject.run(i === 0 ? 'default' : `p${i}`);
  const addName = db.prepare('INSERT INTO names (name) VALUES (?)');
  const names = ['chat/completions', 'openai', 'auto', 'codex'];
  for (let i = 0; i < MODELS; i++) names.push(`model-${i}`);
  for (let i = 0; i < PROJECTS; i++) names.push(`/srv/repo-${i}`);
  for (const name of names) addName.run(name);
  const addSession =
    db.prepare(`INSERT INTO sessions (external_id, project_id, agent_id, agent_version_id, repo_id, first_at, last_at)
    VALUES (?, 1, ?, 0, 0, 0, 0)`);
  const agent = nameIds(db).codex;
  for (let i = 1; i <= SESSIONS; i++) addSession.run(`session-${i}`, agent);
}

const nameIds = (db) => Object.fromEntries(db.prepare('SELECT name, id FROM names').raw().all());

/** All rows are made by SQLite, from three random numbers for each request. */
function addRequests(db, requests, { start, end }) {
  const ids = nameIds(db);
  // A tenth comes from an agent, in sessions; a quarter from a repository; a twentieth asked for another model; a hundredth fails.
  const insert = db.prepare(`WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?),
    r AS MATERIALIZED (SELECT i, abs(random()) AS a, abs(random()) AS b, abs(random()) AS c FROM n)
    INSERT INTO requests (id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome, flags,
      input_tokens, cached_input_tokens, output_tokens, cost_nano_usd, hold_nano_usd, need_input_tokens, need_input_bound,
      need_output_tokens, need_input_nano_usd, need_output_nano_usd, body_us, compressed_us, held_us, sent_us,
      first_byte_ms, duration_ms, settled_ms, repo_id, agent_id, session_id)
    SELECT CAST(? + i * ? AS INTEGER), 1 + a % ${PROJECTS}, 1 + a % ${PROJECTS * 2}, ${ids['chat/completions']}, ${ids.openai},
    ${ids['model-0']} + b % ${MODELS}, iif(c % 20 = 3, ${ids.auto}, ${ids['model-0']} + b % ${MODELS}),
    iif(c % 100 = 0, 500, 200), iif(c % 100 = 0, 2, 0), 1, a % 20000, a % 10000, b % 2000,
    (a % 20000) * 150 + (b % 2000) * 600, 90000000, a % 40000, 1, 16384, (a % 40000) * 150, 9830400, 90, 300, 450, 500,
    100 + b % 200, 200 + b % 30000, 200 + b % 30000, iif(c % 4 = 0, ${ids['/srv/repo-0']} + a % ${PROJECTS}, 0),
    iif(c % 10 = 1, ${ids.codex}, 0), iif(c % 10 = 1, 1 + b % ${SESSIONS}, 0) FROM r`);
  const first = requestIdAt(start);
  const step = (requestIdAt(end) - first) / requests;
  const CHUNK = 100_000;
  for (let i = 0; i < requests; i += CHUNK) insert.run(i, Math.min(i + CHUNK, requests) - 1, first, step);
}

/** The rollups as the daemon writes them, and the sums as it makes them from those. */
function rollUp(db, { start, end }) {
  const DIMS = 'source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id';
  db.exec(`INSERT INTO usage_dims (${DIMS}) SELECT DISTINCT ${DIMS} FROM requests`);
  const insert = db.prepare(`INSERT INTO usage_hours SELECT ?, d.id, count(*), 0, sum(r.outcome = 2), 0,
    sum(r.input_tokens), sum(r.cached_input_tokens), 0, sum(r.output_tokens), 0, 0, sum(r.cost_nano_usd), 0, 0, 0, 0
    FROM requests r CROSS JOIN usage_dims d USING (${DIMS}) WHERE r.id >= ? AND r.id < ? GROUP BY 2`);
  db.exec('BEGIN');
  for (let bucket = bucketOf(start), next = bucket; bucket < end; next += 15 * 60_000) {
    if (bucketOf(next) === bucket && next < end) continue;
    insert.run(bucket, requestIdAt(bucket), requestIdAt(next));
    bucket = next;
  }
  db.exec(`UPDATE sessions SET ${SESSION_FIGURES.map(columnName).map((name) => `${name} = r.${name}`)},
    first_at = r.first, last_at = r.last, repo_id = r.repo
    FROM (SELECT session_id, ${SESSION_SUMS} FROM requests WHERE session_id <> 0 GROUP BY 1) r WHERE id = session_id`);
  db.exec('COMMIT');
  const sums = createUsageSums(db);
  db.exec('BEGIN');
  while (sums.sumNextHour(end));
  db.exec('COMMIT');
}
