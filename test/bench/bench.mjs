// gw beside a bare proxy (and nginx and GoModel, where they are installed), each in front of the same upstream, in interleaved
// rounds; and how long lists and reports take on a database with many requests.
// Usage: npm run bench -- [--rounds 5] [--seconds 4] [--beside DIRECTORY] [--requests 1000000] [--database FILE] [--out FILE]
// DIRECTORY is another checkout of gw, built: its version is measured beside this one's.
// --rounds 0 leaves the requests out, --requests 0 the lists. FILE is made if it doesn't exist, and kept.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { cpuOf, memoryOf } from './process.mjs';
import { measureReading, readingTables } from './reading.mjs';
import { AGENT_MODEL, MODEL, startGoModel, startGw, startNginx, startScript } from './targets.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    beside: { type: 'string', multiple: true, default: [] },
    requests: { type: 'string', default: '1000000' },
    database: { type: 'string' },
    out: { type: 'string' },
  },
});
const [loadBefore] = loadavg();
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const WARM_UP_SECONDS = 3;

const request = (content, fields = {}) =>
  JSON.stringify({ model: MODEL, ...fields, messages: [{ role: 'user', content }] });
const short = request('What is the weather like?', { max_tokens: 100 });
const long = request('Each of these words is worth a token or two. '.repeat(2_300), { max_tokens: 100 });
const SCENARIOS = {
  '64 connections': { body: short, connections: 64 },
  // In the last round only: what a gateway gathers shows after half a minute.
  '64 connections, ten times as long': { body: short, connections: 64, times: 10 },
  'one connection': { body: short, connections: 1 },
  '100 streams': { body: request('Tell me.', { stream: true, max_tokens: 100 }), connections: 100 },
  '100 kB prompts': { body: long, connections: 16 },
};

/** A conversation of an agent, whose body grows with each turn. */
const AGENT = { conversations: 3, turns: 50, bytes: 450_000 };
const AGENT_TURNS = [2, 10, 25, 50];

async function play(target) {
  const { port, key, pid } = target;
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'agent.mjs'),
    JSON.stringify({ port, key, pid, model: AGENT_MODEL, ...AGENT }),
  ]);
  return JSON.parse(stdout);
}

/** One scenario against one target. */
async function measure(target, { body, connections, times = 1 }, forSeconds = seconds * times) {
  const { port, key, pid, model = MODEL } = target;
  const cpuBefore = cpuOf(pid);
  const load = { port, key, body: body.replace(MODEL, model), connections, seconds: forSeconds };
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'load.mjs'),
    JSON.stringify(load),
  ]);
  const { requests, ...result } = JSON.parse(stdout);
  if (result.errors > 0)
    console.error(`${target.name}: ${result.errors} errors, the first: ${result.firstError}`);
  return {
    ...result,
    requests,
    cpuMicros: (cpuOf(pid) - cpuBefore) / requests,
    ...memoryOf(pid),
  };
}

const directory = mkdtempSync(join(tmpdir(), 'gw-bench-'));
const targets = [];
const results = [];
const played = [];
let reading;
try {
  if (rounds > 0) await measureRequests();
  if (Number(options.requests) > 0)
    reading = await measureReading(options.database ?? join(directory, 'big.db'), Number(options.requests));
} finally {
  for (const { child } of targets) child.kill();
  rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
report();

async function measureRequests() {
  const upstream = await startScript('upstream.mjs');
  targets.push({ ...upstream, name: 'direct' });
  targets.push(await startScript('bare-proxy.mjs', `http://127.0.0.1:${upstream.port}`));
  const nginx = await startNginx(upstream.port, directory);
  if (nginx) targets.push(nginx);
  const gomodel = await startGoModel(upstream.port, directory);
  if (gomodel) targets.push(gomodel);
  for (const checkout of options.beside) {
    const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
    targets.push(
      await startGw(upstream.port, directory, { name: `gw ${version}`, checkout: resolve(checkout) }),
    );
  }
  targets.push(await startGw(upstream.port, directory));
  // V8 needs thousands of requests before it settles.
  for (const target of targets)
    for (const scenario of Object.values(SCENARIOS)) await measure(target, scenario, WARM_UP_SECONDS);
  for (let round = 0; round < rounds; round++) {
    for (const [scenario, load] of Object.entries(SCENARIOS)) {
      if (load.times > 1 && round < rounds - 1) continue;
      // Each round begins with another target, so that none is always first.
      for (let i = 0; i < targets.length; i++) {
        const target = targets[(round + i) % targets.length];
        results.push({ round, scenario, target: target.name, ...(await measure(target, load)) });
      }
    }
    for (const target of agentTargets()) played.push({ round, target: target.name, ...(await play(target)) });
    console.error(`round ${round + 1} of ${rounds}`);
  }
}

function report() {
  const out = options.out ?? join('bench-results', `${new Date().toISOString().replaceAll(':', '-')}.json`);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(
    out,
    JSON.stringify(
      {
        node: process.version,
        cpus: cpus().map(({ model }) => model),
        rounds,
        seconds,
        results,
        played,
        reading,
      },
      null,
      1,
    ),
  );
  if (rounds > 0) for (const scenario of Object.keys(SCENARIOS)) console.log(table(scenario));
  if (rounds > 0) console.log(agentTable());
  if (reading) console.log(readingTables(reading));
  if (loadBefore > 0.3 * cpus().length)
    console.log(
      `The machine was busy before (load ${loadBefore.toFixed(1)}): take these figures for nothing.`,
    );
  console.log(
    `Medians of ${rounds} rounds; "x bare" is the median of the ratios within a round. All figures: ${out}`,
  );
}

function table(scenario) {
  const columns = [
    ['requests/s', ({ perSecond }) => perSecond, 0],
    ['CPU us/request', ({ cpuMicros }) => cpuMicros, 0],
    ['p50 ms', ({ p50 }) => p50, 2],
    ['p99 ms', ({ p99 }) => p99, 2],
    ['first byte ms', ({ first }) => first, 2],
    ['RSS MB', ({ rss }) => rss, 0],
  ];
  const lines = targets.map(({ name }) => {
    const own = results.filter((result) => result.scenario === scenario && result.target === name);
    const cells = columns.map(([, value, digits]) => {
      const ratios = own.map((result) => value(result) / value(bareOf(result)));
      const ratio = name === 'bare-proxy' || name === 'direct' ? '' : ` (${median(ratios).toFixed(2)}x bare)`;
      return median(own.map(value)).toFixed(digits) + ratio;
    });
    return `| ${[name, ...cells].join(' | ')} |`;
  });
  const header = [scenario, ...columns.map(([title]) => title)];
  return [`| ${header.join(' | ')} |`, `|---|${columns.map(() => '--:|').join('')}`, ...lines, ''].join('\n');
}

/** Those that speak Anthropic's API: GoModel would translate it. */
function agentTargets() {
  return targets.filter(({ name }) => name === 'bare-proxy' || name.startsWith('gw'));
}

/** What each gw adds to the bare proxy in a turn, and how that grows from the second turn to the last. */
function agentTable() {
  const of = (name, figure, turn) =>
    median(played.filter(({ target }) => target === name).map((each) => each[figure][turn - 1]));
  const added = (name, figure, turn) => of(name, figure, turn) - of('bare-proxy', figure, turn);
  const gws = agentTargets().slice(1);
  const cells = (make) =>
    gws.flatMap(({ name }) => ['firstMs', 'cpuMicros'].map((figure) => make(name, figure)));
  const milliseconds = (value, figure) => (value / (figure === 'firstMs' ? 1 : 1_000)).toFixed(2);
  const row = (...values) => `| ${values.join(' | ')} |`;
  return [
    row(
      'agent, turn',
      'first byte ms, bare',
      'CPU ms, bare',
      ...cells((name, figure) => `${figure === 'firstMs' ? 'first byte' : 'CPU'} added by ${name}`),
    ),
    `|---|${'--:|'.repeat(2 + 2 * gws.length)}`,
    ...AGENT_TURNS.map((turn) => {
      const bare = ['firstMs', 'cpuMicros'].map((figure) =>
        milliseconds(of('bare-proxy', figure, turn), figure),
      );
      return row(turn, ...bare, ...cells((name, figure) => milliseconds(added(name, figure, turn), figure)));
    }),
    row(
      `turn ${AGENT.turns} / turn 2`,
      '',
      '',
      ...cells((name, figure) => (added(name, figure, AGENT.turns) / added(name, figure, 2)).toFixed(2)),
    ),
    '',
  ].join('\n');
}

function bareOf({ round, scenario }) {
  return results.find(
    (other) => other.round === round && other.scenario === scenario && other.target === 'bare-proxy',
  );
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
