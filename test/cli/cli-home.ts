import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import type { Context } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/run-cli.ts';
import { requestIdAt } from '../../src/ids.ts';
import { type Paths, resolvePaths } from '../../src/paths.ts';
import { type Db, openDatabase } from '../../src/store/database/open.ts';
import { createLedger } from '../../src/store/ledger/ledger.ts';
import type { RequestRecord } from '../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../src/usage.ts';
import { VERSION } from '../../src/version.ts';
import type { TestGateway } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/gw', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/bundle/main.js', import.meta.url));

export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  stdin?: string;
  /** Whether the streams are terminals. */
  tty?: boolean;
  columns?: number;
  env?: Record<string, string>;
}

/** A state directory and its command line: in this process on a virtual clock, or as the built program. */
export interface CliHome {
  paths: Paths;
  clock: VirtualClock;
  env: Record<string, string>;
  run(args: string[], options?: RunOptions): Promise<Result>;
  /** Runs a command with `--json` and parses the output. Throws if it fails. */
  json<T>(args: string[]): Promise<T>;
  /** Runs `bin/gw` as a separate process. */
  exec(args: string[], options?: RunOptions): Promise<Result>;
  /** Runs `bin/gw` with files limited to a number of 512-byte blocks, as on a full disk. */
  limited(blocks: number, args: string[]): { status: number | null; stderr: string };
  spawn(args: string[], env?: Record<string, string>): ChildProcess;
  open(): Promise<Db>;
  /** Writes request records. */
  record(...records: (Partial<RequestRecord> & { timeMs: number })[]): Promise<void>;
}

/** Creates a state directory whose time zone is `timezone`. */
export function cliHome({ timezone = 'Europe/Paris' } = {}): CliHome {
  const home = tmpHome();
  const env: Record<string, string> = {
    GW_HOME: home,
    GW_TIMEZONE: timezone,
    GW_PORT: '0',
    HOME: home,
    PATH: process.env.PATH ?? '',
  };
  const paths = resolvePaths(env);
  const clock = createVirtualClock();
  const cli: CliHome = {
    paths,
    clock,
    env,
    run: (args, options = {}) => runInProcess(cli, args, options),
    async json<T>(args: string[]) {
      const { code, stdout, stderr } = await cli.run([...args, '--json']);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as T;
    },
    exec: (args, options = {}) => execute(cli.spawn(args, options.env), options.stdin),
    limited: (blocks, args) =>
      spawnSync('sh', ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', process.execPath, PROGRAM, ...args], {
        env,
        encoding: 'utf8',
      }),
    spawn(args, more = {}) {
      if (!existsSync(BUILT)) throw new Error('these tests run the built program. First: npm run build');
      return spawn(process.execPath, [PROGRAM, ...args], { env: { ...env, ...more }, stdio: 'pipe' });
    },
    async open() {
      const db = await openDatabase(paths.database);
      onTestFinished(() => void db.close());
      return db;
    },
    async record(...records) {
      const db = await openDatabase(cli.paths.database);
      const recordedAt = Math.max(clock.now(), ...records.map(({ timeMs }) => timeMs));
      const ledger = createLedger({
        db,
        clock: { ...clock, now: () => recordedAt },
        calendar: () => createCalendar(timezone),
        slot: 0,
      });
      await Promise.all(
        records.map((record, i) => ledger.record({ ...recordAt(record.timeMs, i), ...record })),
      );
      db.close();
    },
  };
  return cli;
}

/** A command line that manages a daemon: on its machine or, through GW_URL, from elsewhere. */
export function commandLineOf(
  gateway: Pick<TestGateway, 'adminKey' | 'daemon' | 'origin' | 'paths'>,
  how: 'locally' | 'remotely',
  clock: VirtualClock,
): CliHome {
  const cli = cliHome({ timezone: 'UTC' });
  cli.clock = clock;
  if (how === 'locally') {
    cli.paths = gateway.paths;
    Object.assign(cli.env, { GW_HOME: gateway.paths.home, GW_PORT: String(gateway.daemon.port) });
  } else Object.assign(cli.env, { GW_URL: gateway.origin, GW_KEY: gateway.adminKey });
  return cli;
}

/** Stops the daemon that the test starts, after the test. */
export function stopAfterwards(cli: CliHome): void {
  onTestFinished(async () => void (await cli.exec(['stop', '--now'])));
}

function recordAt(timeMs: number, index: number): RequestRecord {
  return {
    id: requestIdAt(timeMs) + index,
    projectId: 1,
    keyId: 0,
    endpoint: 'chat/completions',
    provider: 'openai',
    model: 'gpt-4.1-mini',
    askedModel: 'gpt-4.1-mini',
    status: 200,
    outcome: 'ok',
    flags: 0,
    usage: NO_USAGE,
    costNanoUsd: 0,
    savedTokens: 0,
    savedNanoUsd: 0,
    durationMs: 812,
    firstByteMs: 120,
  };
}

async function runInProcess(cli: CliHome, args: string[], options: RunOptions): Promise<Result> {
  const { stdin, tty = false, columns, env = {} } = options;
  const input = Object.assign(new PassThrough(), { isTTY: tty });
  const stdout = Object.assign(new PassThrough(), { isTTY: tty, columns });
  const stderr = Object.assign(new PassThrough(), { isTTY: tty, columns });
  const texts = [stdout, stderr].map(collect);
  const context: Context = {
    stdin: input,
    stdout,
    stderr,
    env: { ...cli.env, ...env },
    clock: cli.clock,
    paths: cli.paths,
    program: PROGRAM,
    gw: 'gw',
    version: VERSION,
  };
  input.end(stdin ?? '');
  const code = await runCli(args, context);
  return { code, stdout: texts[0]?.() ?? '', stderr: texts[1]?.() ?? '' };
}

function collect(stream: PassThrough): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text + (stream.read() ?? '');
}

/** Writes stdin to a process and waits until it exits. */
export async function execute(child: ChildProcess, stdin = ''): Promise<Result> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
  });
  child.stdin?.end(stdin);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? -1, stdout, stderr };
}
