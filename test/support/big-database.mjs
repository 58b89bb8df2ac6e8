// A database with many requests over three years, as a daemon would have left it, and how long its reports take.
// Usage: npm run build && node test/support/big-database.mjs FILE [REQUESTS] [PROJECTS] [MODELS] [DAYS]
// The first run makes FILE; every run measures.
import { existsSync, statSync } from 'node:fs';
import { createCalendar } from '../../dist/calendar.js';
import { requestIdAt } from '../../dist/ids.js';
import { openDatabase } from '../../dist/store/database/open.js';
import { bucketOf } from '../../dist/store/ledger/usage-bucket.js';
import { createUsageSums } from '../../dist/store/ledger/usage-sums.js';
import { GROUPINGS } from '../../dist/store/reports/query.js';
import { usageReport } from '../../dist/store/reports/usage-report.js';

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
  const [endpoint, provider, firstModel] = ['chat/completions', 'openai', 'model-0'].map((text) =>
    name.get(text),
  );
  for (let i = 1; i < models; i++) name.get(`model-${i}`);
  const insert = db.prepare(`WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?),
    r AS MATERIALIZED (SELECT i, abs(random()) AS a, abs(random()) AS b FROM n)
    INSERT INTO requests SELECT CAST(? + i * ? AS INTEGER), 1 + a % ${projects}, 1 + a % ${projects}, ${endpoint}, ${provider},
    ${firstModel} + b % ${models}, ${firstModel} + b % ${models}, 200, 0, 1, a % 20000, a % 10000, 0, b % 2000, 0, 0, (a % 20000) * 150 + (b % 2000) * 600,
    0, 90000000, 200 + b % 30000, 100 + b % 200, NULL, 0, 0 FROM r`);
  const first = requestIdAt(START);
  const step = (requestIdAt(END) - first) / requests;
  const CHUNK = 100_000;
  for (let i = 0; i < requests; i += CHUNK) insert.run(i, Math.min(i + CHUNK, requests) - 1, first, step);
  rollUp();
}

/** The rollups as the daemon writes them, and the sums as it makes them from those. */
function rollUp() {
  const insert =
    db.prepare(`INSERT INTO usage_hours SELECT ?, project_id, provider_id, model_id, count(*), 0, 0, 0,
    sum(input_tokens), sum(cached_input_tokens), 0, sum(output_tokens), 0, 0, sum(cost_nano_usd), 0
    FROM requests WHERE id >= ? AND id < ? GROUP BY 2, 3, 4`);
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
