// A database with many requests over three years, as a daemon would have left it, and how long its reports and lists take.
// Usage: npm run build && node test/support/big-database.mjs FILE [REQUESTS] [PROJECTS] [MODELS] [DAYS]
// The first run makes FILE; every run measures.
import { existsSync, statSync } from 'node:fs';
import { createCalendar } from '../../dist/calendar.js';
import { requestIdAt } from '../../dist/ids.js';
import { bucketOf } from '../../dist/store/archive/usage-bucket.js';
import { createUsageSums } from '../../dist/store/archive/usage-sums.js';
import { openDatabase } from '../../dist/store/database/open.js';
import { GROUPINGS } from '../../dist/store/reports/query.js';
import { usageReport } from '../../dist/store/reports/usage-report.js';
import { listRequests } from '../../dist/store/requests/request-log.js';

const [file, ...sizes] = process.argv.slice(2);
const [requests = 10_000_000, projects = 50, models = 20, days = 1_095] = sizes.map(Number);
if (!file) throw new Error('which file? node test/support/big-database.mjs FILE [REQUESTS]');

const DAY_MS = 86_400_000;
// The first year that a request id can be of.
const START = Date.UTC(2025, 0, 1);
const END = START + days * DAY_MS;

const isNew = !existsSync(file);
const db = await openDatabase(file);
db.pragma('synchronous = OFF');
if (isNew) make();

/** All rows are made by SQLite from a row of random numbers for each request. */
function make() {
  for (let i = 0; i < projects; i++)
    db.prepare('INSERT OR IGNORE INTO projects (name, created_at) VALUES (?, 0)').run(
      i === 0 ? 'default' : `p${i}`,
    );
  const name = db.prepare('INSERT INTO names (name) VALUES (?) RETURNING id').pluck();
  const idOf = (text) => Number(name.get(text));
  const [endpoint, provider, firstModel] = ['chat/completions', 'openai', 'model-0'].map(idOf);
  for (let i = 1; i < models; i++) idOf(`model-${i}`);
  const [firstRepo, agent] = ['/srv/repo-0', 'codex'].map(idOf);
  for (let i = 1; i < 100; i++) idOf(`/srv/r-${i}`);
  for (let i = 1; i <= 1_000; i++)
    db.prepare(`INSERT INTO sessions (external_id, project_id, agent_id, agent_version_id, repo_id, first_at, last_at)
      VALUES (?, 1, ?, 0, 0, 0, 0)`).run(`session-${i}`, agent);
  // A tenth comes from an agent, in sessions; a quarter from a repository; a hundredth fails.
  const insert = db.prepare(`WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?),
    r AS MATERIALIZED (SELECT i, abs(random()) AS a, abs(random()) AS b, abs(random()) AS c FROM n)
    INSERT INTO requests (id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome, flags,
      input_tokens, cached_input_tokens, output_tokens, cost_nano_usd, hold_nano_usd, need_input_tokens, need_input_bound,
      need_output_tokens, need_input_nano_usd, need_output_nano_usd, body_us, compressed_us, held_us, sent_us,
      first_byte_ms, duration_ms, settled_ms, repo_id, agent_id, session_id)
    SELECT CAST(? + i * ? AS INTEGER), 1 + a % ${projects}, 1 + a % ${projects * 2}, ${endpoint}, ${provider},
    ${firstModel} + b % ${models}, ${firstModel} + b % ${models}, iif(c % 100 = 0, 500, 200), iif(c % 100 = 0, 2, 0), 1,
    a % 20000, a % 10000, b % 2000, (a % 20000) * 150 + (b % 2000) * 600, 90000000, a % 40000, 1, 16384, (a % 40000) * 150,
    9830400, 90, 300, 450, 500, 100 + b % 200, 200 + b % 30000, 200 + b % 30000,
    iif(c % 4 = 0, iif(a % ${projects} = 0, ${firstRepo}, ${firstRepo} + 1 + a % ${projects}), 0), iif(c % 10 = 1, ${agent}, 0), iif(c % 10 = 1, 1 + b % 1000, 0) FROM r`);
  const first = requestIdAt(START);
  const step = (requestIdAt(END) - first) / requests;
  const CHUNK = 100_000;
  for (let i = 0; i < requests; i += CHUNK) insert.run(i, Math.min(i + CHUNK, requests) - 1, first, step);
  rollUp();
}

/** The rollups as the daemon writes them, and the sums as it makes them from those. */
function rollUp() {
  const DIMS = 'source, project_id, provider_id, model_id, key_id, agent_id, repo_id, process_id';
  db.exec(`INSERT INTO usage_dims (${DIMS}) SELECT DISTINCT ${DIMS} FROM requests`);
  const insert = db.prepare(`INSERT INTO usage_hours SELECT ?, d.id, count(*), 0, sum(r.outcome = 2), 0,
    sum(r.input_tokens), sum(r.cached_input_tokens), 0, sum(r.output_tokens), 0, 0, sum(r.cost_nano_usd), 0, 0, 0
    FROM requests r CROSS JOIN usage_dims d USING (${DIMS}) WHERE r.id >= ? AND r.id < ? GROUP BY 2`);
  db.exec('BEGIN');
  for (let bucket = START, next = START; next <= END; next += 15 * 60_000) {
    if (bucketOf(next) === bucket) continue;
    insert.run(bucket, requestIdAt(bucket), requestIdAt(next));
    bucket = next;
  }
  db.exec('COMMIT');
  const sums = createUsageSums(db);
  const started = performance.now();
  let hours = 0;
  let slowest = 0;
  db.exec('BEGIN');
  for (let more = true; more; hours++) {
    const before = performance.now();
    more = sums.sumNextHour(END);
    slowest = Math.max(slowest, performance.now() - before);
  }
  db.exec('COMMIT');
  console.log(
    `summed ${hours} hours: ${((performance.now() - started) / hours).toFixed(2)} ms each, slowest ${slowest.toFixed(1)} ms`,
  );
}

const rows = (table) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
db.pragma('wal_checkpoint(TRUNCATE)');
console.log(
  `${(statSync(file).size / 1e6).toFixed(0)} MB: ${['requests', 'usage_hours', 'usage_sums'].map((t) => `${rows(t)} ${t}`).join(', ')}`,
);

const MONTH = { since: END - 60 * DAY_MS, until: END - 30 * DAY_MS };
const FILTERS = {
  none: {},
  project: { projectId: 3 },
  key: { keyId: 7 },
  model: { model: 'openai/model-5' },
  agent: { agent: 'codex' },
  session: { session: 'session-77' },
  repository: { repo: '/srv/r-7' },
  status: { status: 500 },
  outcome: { outcome: 'upstream_error' },
  'no such status': { status: 418 },
  month: MONTH,
  'project, month': { projectId: 3, ...MONTH },
  'model, status': { model: 'openai/model-5', status: 500 },
  'key, agent': { keyId: 7, agent: 'codex' },
  'session, status': { session: 'session-77', status: 500 },
  'repository, model, month': { repo: '/srv/r-7', model: 'openai/model-5', ...MONTH },
};
for (const [name, filter] of Object.entries(FILTERS)) {
  const times = [];
  for (let i = 0; i < 40; i++) {
    const before = performance.now();
    await listRequests(db, { ...filter, limit: 50 });
    times.push(performance.now() - before);
  }
  const p95 = times.sort((a, b) => a - b)[37];
  console.log(`50 requests by ${name}: p95 ${p95.toFixed(1)} ms, longest ${times.at(-1).toFixed(1)} ms`);
}

const day = (timeMs) => new Date(timeMs).toISOString().slice(0, 10);
for (const timezone of ['UTC', 'Asia/Kolkata', 'America/New_York']) {
  for (const projectId of [undefined, 7]) {
    for (const groupBy of GROUPINGS) {
      const query = { from: day(START), to: day(END - 1), groupBy, projectId };
      const times = [];
      for (let i = 0; i < 7; i++) {
        // A new calendar each: the first report of a process finds no day known.
        const calendar = createCalendar(timezone);
        const before = process.cpuUsage();
        await usageReport(db, calendar, query);
        const { user, system } = process.cpuUsage(before);
        times.push((user + system) / 1000);
      }
      const [first, ...rest] = times;
      const median = rest.sort((a, b) => a - b)[3];
      const whose = projectId === undefined ? 'all projects' : 'one project';
      console.log(
        `${timezone}, by ${groupBy}, ${whose}: ${median.toFixed(1)} ms of CPU (first ${first.toFixed(1)})`,
      );
    }
  }
}
db.close();
