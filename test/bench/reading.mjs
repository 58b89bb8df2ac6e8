// How long pages of requests and reports take on a database with many requests. Prints tables; part of `npm run bench`.
import { createCalendar } from '../../dist/calendar.js';
import { GROUPINGS } from '../../dist/store/reports/query.js';
import { usageReport } from '../../dist/store/reports/usage-report.js';
import { listRequests } from '../../dist/store/requests/request-log.js';
import { DAY_MS, END, MODELS, openBigDatabase, PROJECTS, SESSIONS, START } from './big-database.mjs';

const PAGE = 50;
const PAGES = 100;
const REPORTS = 5;

const month = (i) => ({ since: START + (i % 30) * 30 * DAY_MS, until: START + ((i % 30) + 1) * 30 * DAY_MS });
const project = (i) => ({ projectId: 1 + (i % PROJECTS) });
const key = (i) => ({ keyId: 1 + (i % (PROJECTS * 2)) });
const model = (i) => ({ model: `openai/model-${i % MODELS}` });
const agent = () => ({ agent: 'codex' });
const session = (i) => ({ session: `session-${1 + (i % SESSIONS)}` });
const repository = (i) => ({ repo: `/srv/repo-${i % PROJECTS}` });
const status = () => ({ status: 500 });

/** Filters of the i-th page: each page has another value, where there are several. */
const FILTERS = {
  none: () => ({}),
  project,
  key,
  model,
  'model asked for': () => ({ model: 'auto' }),
  agent,
  session,
  repository,
  status,
  'status that did not occur': () => ({ status: 418 }),
  outcome: () => ({ outcome: 'upstream_error' }),
  time: month,
  'project, time': (i) => ({ ...project(i), ...month(i) }),
  'model, status': (i) => ({ ...model(i), ...status() }),
  'key, agent': (i) => ({ ...key(i), ...agent() }),
  'session, status': (i) => ({ ...session(i), ...status() }),
  'repository, model, time': (i) => ({ ...repository(i), ...model(i), ...month(i) }),
};

/** Measures with the database in `file`, which is made with so many requests if there is none. */
export async function measureReading(file, requests) {
  const db = await openBigDatabase(file, requests);
  try {
    const lists = await timeLists(db);
    const reports = await timeReports(db);
    return { requests: db.prepare('SELECT count(*) FROM requests').pluck().get(), lists, reports };
  } finally {
    db.close();
  }
}

async function timeLists(db) {
  const results = [];
  for (const [filter, at] of Object.entries(FILTERS)) {
    const times = [];
    for (let i = 0; i < PAGES; i++) {
      const before = performance.now();
      await listRequests(db, { ...at(i), limit: PAGE });
      times.push(performance.now() - before);
    }
    times.sort((a, b) => a - b);
    results.push({ filter, p50: times[PAGES / 2], p95: times[PAGES * 0.95 - 1], longest: times.at(-1) });
  }
  return results;
}

async function timeReports(db) {
  const day = (timeMs) => new Date(timeMs).toISOString().slice(0, 10);
  const results = [];
  for (const timezone of ['UTC', 'Asia/Kolkata'])
    for (const projectId of [undefined, 7])
      for (const groupBy of GROUPINGS) {
        const times = [];
        for (let i = 0; i < REPORTS; i++) {
          // A new calendar each: the first report of a process finds no day known.
          const calendar = createCalendar(timezone);
          const before = process.cpuUsage();
          await usageReport(db, calendar, { from: day(START), to: day(END - 1), groupBy, projectId });
          const { user, system } = process.cpuUsage(before);
          times.push((user + system) / 1_000);
        }
        const cpuMs = times.sort((a, b) => a - b)[Math.floor(REPORTS / 2)];
        results.push({ timezone, groupBy, projects: projectId === undefined ? 'all' : 'one', cpuMs });
      }
  return results;
}

export function readingTables({ requests, lists, reports }) {
  const of = `of ${requests / 1e6} million`;
  const ms = (value) => value.toFixed(1);
  return [
    `| ${PAGE} requests ${of}, by | p50 ms | p95 ms | longest ms |`,
    '|---|--:|--:|--:|',
    ...lists.map(
      ({ filter, p50, p95, longest }) => `| ${filter} | ${ms(p50)} | ${ms(p95)} | ${ms(longest)} |`,
    ),
    '',
    `| report ${of}, three years | projects | time zone | CPU ms |`,
    '|---|---|---|--:|',
    ...reports.map(
      ({ groupBy, projects, timezone, cpuMs }) =>
        `| by ${groupBy} | ${projects} | ${timezone} | ${ms(cpuMs)} |`,
    ),
    '',
  ].join('\n');
}
