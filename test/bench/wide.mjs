// An installation that is wide rather than long: 200 projects, 1,000 keys, 500 budgets, 10,000 sessions with long names.
// Usage: npm run build && node test/bench/wide.mjs [--sessions 10000]
// Prints CPU seconds of commands and of the daemon, and its memory, beside those of one project, one key and one budget.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createCalendar } from '../../dist/calendar.js';
import { createKey } from '../../dist/store/accounts/keys.js';
import { createProject } from '../../dist/store/accounts/projects.js';
import { setBudget } from '../../dist/store/budgets/budgets.js';
import { openDatabase } from '../../dist/store/database/open.js';
import { cpuOf, memoryOf } from './process.mjs';
import { MODEL, serve, startGw, startScript } from './targets.mjs';

const { values: options } = parseArgs({ options: { sessions: { type: 'string', default: '10000' } } });
const SESSIONS = Number(options.sessions);
const WIDE = { projects: 200, keys: 1_000, budgets: 500 };
const GW = join(import.meta.dirname, '../../bin/gw');
/** 180 characters of several scripts, bytes of UTF-8 as header values may have. */
const LONG = 'επιχείρηση-предприятие-企業-기업-企业-'.repeat(6).slice(0, 180);
const COMMANDS = [
  ...['status', 'projects list', 'keys list', 'budget list', 'sessions', 'requests', 'usage'],
  ...['usage -g project', 'usage -g key', 'usage -g session', 'doctor'],
];

async function makeWide(home) {
  const db = await openDatabase(join(home, 'gw.db'));
  const now = Date.now();
  const calendar = createCalendar('UTC');
  const projects = [];
  for (let i = 0; i < WIDE.projects; i++)
    projects.push(await createProject(db, { name: `${'team-'.repeat(11)}${i}`, now }));
  const keys = [];
  for (let i = 0; i < WIDE.keys; i++) {
    const { id: projectId } = projects[i % projects.length];
    keys.push((await createKey(db, { projectId, label: `${LONG}${i}`, now })).key);
  }
  const periods = ['daily', 'weekly', 'monthly'];
  for (let i = 0; i < WIDE.budgets; i++) {
    const project = projects[i % projects.length];
    const period = periods[Math.floor(i / projects.length)];
    const scope = i % 10 === 0 ? { scope: { kind: 'each', value: 'session' } } : {};
    await setBudget(db, project, { period, capNanoUsd: 1e12, ...scope }, { calendar, now });
  }
  db.close();
  return keys;
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });
async function ask(port, key, session) {
  const body = JSON.stringify({
    model: MODEL,
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  const sent = request({
    ...{ agent, port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' },
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-service-session': Buffer.from(session).toString('latin1'),
    },
  });
  sent.end(body);
  const [answer] = await once(sent, 'response');
  answer.resume();
  await once(answer, 'end');
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} of ${session}`);
}

/** Figures of a daemon with these keys that serves each session once. */
async function measure(prepare) {
  const directory = mkdtempSync(join(tmpdir(), 'gw-wide-'));
  const upstream = await startScript('upstream.mjs');
  let gw = await startGw(upstream.port, directory);
  const keys = [gw.key];
  if (prepare) {
    gw.child.kill('SIGTERM');
    await once(gw.child, 'exit');
    keys.splice(0, 1, ...(await prepare(gw.home)));
    const child = await serve(gw);
    gw = { ...gw, child, pid: child.pid };
  }
  const figures = { 'start, CPU s': cpuOf(gw.pid) / 1e6, 'memory after start, MB': memoryOf(gw.pid).rss };
  const one = async (i) => ask(gw.port, keys[i % keys.length], `${LONG}-${i}`);
  for (let i = 0; i < SESSIONS / 10; i++) await one(i);
  const before = cpuOf(gw.pid);
  for (let i = SESSIONS / 10; i < SESSIONS; i += 8)
    await Promise.all(Array.from({ length: 8 }, (_, k) => one(i + k)));
  figures['a request, CPU us'] = (cpuOf(gw.pid) - before) / (0.9 * SESSIONS);
  figures['memory after all sessions, MB'] = memoryOf(gw.pid).rss;
  for (const command of COMMANDS) figures[`gw ${command}, CPU s`] = cpuOfCommand(command, gw.env);
  gw.child.kill('SIGTERM');
  await once(gw.child, 'exit');
  upstream.child.kill();
  figures['database, MB'] = statSync(join(gw.home, 'gw.db')).size / 1e6;
  rmSync(directory, { recursive: true, force: true });
  return figures;
}

function cpuOfCommand(command, env) {
  const before = childSeconds();
  const { status, stderr } = spawnSync(process.execPath, [GW, ...command.split(' ')], {
    env,
    encoding: 'utf8',
  });
  if (status !== 0 && command !== 'doctor') throw new Error(`gw ${command}: ${stderr}`);
  return childSeconds() - before;
}

/** CPU of all children that have ended: fields 16 and 17 of /proc/self/stat, in ticks of 10 ms. */
function childSeconds() {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

const narrow = await measure();
const wide = await measure(makeWide);
console.log(
  `| | one of each | ${WIDE.projects} projects, ${WIDE.keys} keys, ${WIDE.budgets} budgets |\n|---|--:|--:|`,
);
for (const [name, figure] of Object.entries(narrow))
  console.log(
    `| ${name} | ${figure.toFixed(figure < 10 ? 2 : 0)} | ${wide[name].toFixed(wide[name] < 10 ? 2 : 0)} |`,
  );
