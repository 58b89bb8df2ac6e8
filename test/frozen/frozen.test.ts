import { readFileSync, writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import type { CommandUnknownOpts } from 'commander';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/cli/catalog.ts';
import type { Context } from '../../src/cli/context.ts';
import { Exit } from '../../src/cli/exit.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { boot } from '../../src/daemon/boot.ts';
import { type Paths, resolvePaths } from '../../src/paths.ts';
import { type ApiOptions, routesOf } from '../../src/server/api.ts';
import { acquireLock } from '../../src/store/database/lock.ts';
import { VERSION } from '../../src/version.ts';
import { addLog } from '../agents/logs/logs.ts';
import { type CliHome, cliHome, type Result } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import { COMPRESSIBLE, PLAIN } from '../support/gateway.ts';
import { until } from '../support/home.ts';
import { seededRandom } from '../support/random.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { CHANGING, ENDLESS, MACHINE, NEW_HOME, READING, UNFROZEN } from './commands.ts';
import { ENDPOINTS } from './endpoints.ts';
import { difference, goldenFile, laidOut, normalise } from './golden.ts';
import { buildMonth, type Month, NOW, TIMEZONE } from './month.ts';

const COLUMNS = 110;

const undo: (() => unknown)[] = [];
let month: Month;
let origin: string;
let home: string;
let upstreamUrl: string;
/** The id of the question that a request waits with. */
let ask: string;

/** A daemon on the month's home, at a time that stands still. */
beforeAll(async () => {
  const whenDone = (work: () => Promise<void>) => void undo.push(work);
  home = tmpHome(whenDone);
  const paths = resolvePaths({ GW_HOME: home });
  const upstream = await startUpstream();
  undo.push(() => upstream.close());
  upstreamUrl = upstream.url;
  month = await buildMonth(paths, upstreamUrl);
  const lock = acquireLock(paths.lock);
  undo.push(() => lock?.release());
  const log = pino({ level: 'silent' });
  const daemon = await boot({
    ...{ paths, env: {}, flags: { port: 0 }, log },
    ...{ clock: createVirtualClock(NOW), random: seededRandom('daemon') },
  });
  undo.push(() => daemon.stop({ graceMs: 0 }));
  origin = `http://127.0.0.1:${daemon.port}`;
  ask = await waitingRequest();
});
afterAll(async () => {
  for (const work of undo.reverse()) await work();
});

/** Sends a request that waits until the daemon stops or somebody approves it. */
async function waitingRequest(): Promise<string> {
  const headers = { authorization: `Bearer ${month.askingKey}`, 'content-type': 'application/json' };
  void request(`${origin}/v1/chat/completions`, { method: 'POST', headers, body: PLAIN }).catch(() => {});
  let open: { id: string }[] = [];
  await until(async () => {
    const answer = await request(`${origin}/v1/gw/asks`, { method: 'GET', headers });
    open = (answer.json() as { data: typeof open }).data;
    return open.length > 0;
  });
  return open[0]?.id ?? '';
}

/** A command line on the daemon's machine, or on another one. */
function commandLine(how: 'locally' | 'remotely'): CliHome {
  const cli = newMachine();
  if (how === 'locally') {
    cli.paths = resolvePaths({ GW_HOME: home });
    Object.assign(cli.env, { GW_HOME: home, GW_PORT: new URL(origin).port });
  } else Object.assign(cli.env, { GW_URL: origin, GW_KEY: month.adminKey });
  return cli;
}

/** A command line on a machine without gw. */
function newMachine(): CliHome {
  const cli = cliHome({ timezone: TIMEZONE });
  cli.clock = createVirtualClock(NOW);
  cli.env.PATH = '';
  return cli;
}

/** Puts what only a run knows into a line: `<failed>` is the id of a request that failed. */
function filled(line: string, more: Record<string, string> = {}): string {
  const values: Record<string, string> = { ...month.ids, ask, gw: origin, ...more };
  return line.replace(/<(\w+)>/g, (whole, name: string) => values[name] ?? whole);
}

async function printed(cli: CliHome, line: string, stdin = ''): Promise<string> {
  const user = cli.env.HOME ?? '';
  const args = filled(line, { user }).split(' ');
  return outputOf(cli, await cli.run(args, { columns: COLUMNS, stdin }));
}

function outputOf({ env, paths }: CliHome, { code, stdout, stderr }: Result): string {
  const [output, errors] = [stdout, stderr].map((text) =>
    normalise(text.replaceAll(env.HOME ?? paths.home, '<user>'), paths.home),
  );
  return [`exit ${code}`, laidOut(output ?? '', 2).trimEnd(), errors && `--- stderr\n${errors}`]
    .filter(Boolean)
    .join('\n');
}

/** The first five lines of a command that never ends: its output breaks then. */
async function firstLines(cli: CliHome, line: string): Promise<string> {
  let stdout = '';
  const output = Object.assign(new PassThrough(), { isTTY: false, columns: COLUMNS });
  output.write = (chunk: string) => {
    stdout += chunk;
    if (stdout.split('\n').length > 5) throw new Exit(0);
    return true;
  };
  const streams = { stdin: process.stdin, stdout: output, stderr: new PassThrough() };
  const context = { ...cli, ...streams, program: 'gw', gw: 'gw', version: VERSION };
  const code = await runCli(line.split(' '), context as Context);
  return outputOf(cli, { code, stdout, stderr: '' });
}

test('each command with --json is listed, or why it is not', async () => {
  const program = await createProgram(
    { ...commandLine('locally'), version: VERSION } as never,
    CATALOG,
    CATALOG,
  );
  const namesOf = (command: CommandUnknownOpts, path: string): string[] => [
    ...(command.options.some(({ long }) => long === '--json') ? [path] : []),
    ...command.commands.flatMap((each) => namesOf(each, `${path} ${each.name()}`.trim())),
  ];
  const lines = [...Object.values(READING).flat(), ...MACHINE, ...NEW_HOME, ...CHANGING, ...ENDLESS];
  const isRun = (name: string) => lines.some((line) => `${line} `.startsWith(`${name} `));
  const others = namesOf(program, '').filter((name) => !isRun(name));
  expect(others.sort()).toEqual(Object.keys(UNFROZEN).sort());
});

/** Adds what a command prints locally, and how that differs remotely. */
async function addBoth(
  golden: ReturnType<typeof goldenFile>,
  line: string,
  [here, away]: [CliHome, CliHome],
  print = printed,
): Promise<void> {
  const local = await print(here, line);
  golden.add(`gw ${line}`, local);
  golden.add(`gw ${line}, remotely`, difference(await print(away, line), local));
}

describe('reading commands', () => {
  const onBoth = (): [CliHome, CliHome] => [commandLine('locally'), commandLine('remotely')];

  for (const [area, lines] of Object.entries(READING))
    test(area, async () => {
      const golden = goldenFile(area);
      const both = onBoth();
      for (const line of lines) {
        await addBoth(golden, `${line} --json`, both);
        golden.add(`gw ${line}`, await printed(both[0], line));
      }
      golden.check();
    });

  test('endless', async () => {
    const golden = goldenFile('endless');
    const both = onBoth();
    for (const line of ENDLESS.flatMap((each) => [`${each} --json`, each]))
      await addBoth(golden, line, both, firstLines);
    golden.check();
  });
});

describe('GET endpoints', () => {
  test('are all listed', () => {
    // The handlers are not called.
    const options = { gateway: {}, webhooks: {}, db: { prepare() {} } };
    const routes = Object.keys(routesOf(options as unknown as ApiOptions));
    const paths = routes.filter((route) => route.startsWith('GET /v1/')).map((route) => route.slice(4));
    expect(Object.keys(ENDPOINTS).sort()).toEqual(paths.sort());
  });

  test('http', async () => {
    const golden = goldenFile('http');
    const get = async (path: string, key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await request(origin, { method: 'GET', path: filled(path), headers });
      return `HTTP ${answer.status}\n${laidOut(normalise(answer.body.toString(), home))}`;
    };
    for (const path of Object.values(ENDPOINTS).flat()) {
      const answer = await get(path, month.adminKey);
      golden.add(`GET ${path}`, answer);
      const own = await get(path, month.webKey);
      golden.add(`GET ${path}, with a project's key`, own === answer ? 'the same' : own);
    }
    golden.check();
  });
});

// These change the home, and come last.
describe('commands that write', () => {
  test('machine', async () => {
    const golden = goldenFile('machine');
    const cli = commandLine('locally');
    const user = cli.env.HOME ?? '';
    writeUserFiles(user, cli.paths);
    for (const line of MACHINE) golden.add(`gw ${line} --json`, await printed(cli, `${line} --json`));
    const other = newMachine();
    other.env.HOME = user;
    for (const line of NEW_HOME.map((each) => `${each} --json`))
      golden.add(`gw ${line}, on a new machine`, await printed(other, line, month.adminKey));
    golden.check();
  });

  test('changing', async () => {
    const golden = goldenFile('changing');
    const alike = newMachine();
    await buildMonth(alike.paths, upstreamUrl);
    const away = commandLine('remotely');
    for (const line of CHANGING) await addBoth(golden, `${line} --json`, [alike, away]);
    golden.check();
  });
});

/** Files that commands are given, and logs of agents from within the month. */
function writeUserFiles(user: string, paths: Paths): void {
  for (const name of ['claude-2.1.197', 'codex-0.169.0']) {
    const path = addLog(user, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('2026-11-', '2026-03-'));
  }
  const write = (path: string, lines: unknown[]) =>
    writeFileSync(
      path,
      lines.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join('\n'),
    );
  write(`${user}/request.json`, [COMPRESSIBLE]);
  const label = { messages: [{ role: 'user', content: 'Tell me of lemmas' }], strong_correct: 1 };
  write(
    `${user}/labels.jsonl`,
    [0, 1].map((weak_correct) => ({ ...label, weak_correct })),
  );
  const columns = 'start_time_iso,amount_value,amount_currency,line_item';
  write(`${user}/bill.csv`, [columns, '2026-03-12T00:00:00Z,1.25,usd,gpt-4.1 input']);
  const log = { level: 30, time: NOW, msg: 'gw is listening', port: 4747 };
  write(paths.log, [log, { ...log, level: 40, msg: 'a warning' }]);
}
