import { execFile, spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { createPostgresAdmin } from '../../../src/team/postgres/admin.ts';
import { installTeam } from '../../../src/team/postgres/install.ts';
import { freePort } from '../../support/free-port.ts';
import { type HomeOptions, prepareHome, type TestHome, until } from '../../support/home.ts';
import { connectTo, type Postgres, startPostgres } from '../../support/postgres.ts';
import { type SpawnedDaemon, spawnDaemon } from '../../support/spawned.ts';
import { tmpHome } from '../../support/tmp-home.ts';

const GW = join(import.meta.dirname, '../../../bin/gw');

/** A PostgreSQL that survives `kill`, with one monthly budget for the whole team. */
export interface TeamServerProcess {
  postgres: Postgres;
  /** What gateways join. */
  url: string;
}

export async function startTeamServer(capUsd: number): Promise<TeamServerProcess> {
  const postgres = await startPostgres({ settings: { fsync: 'on' } });
  onTestFinished(postgres.remove);
  await installTeam(postgres.url(), { name: 'acme', timezone: 'UTC' });
  const admin = createPostgresAdmin(postgres.url());
  await admin.setBudget({ project: '', period: 'monthly', capNanoUsd: capUsd * 1e9 });
  await admin.close();
  const program = process.env.GW_TEST_PGBOUNCER;
  return { postgres, url: program ? await startPgBouncer(program, postgres) : postgres.url() };
}

/** Transaction pooling between the gateways and their server, with the program that `GW_TEST_PGBOUNCER` names. */
async function startPgBouncer(program: string, { port: server, url }: Postgres): Promise<string> {
  const port = await freePort();
  const dir = tmpHome();
  const lines = [
    '[databases]',
    `postgres = host=127.0.0.1 port=${server}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    'auth_type = trust',
    `auth_file = ${join(dir, 'users')}`,
    'pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 200',
  ];
  writeFileSync(join(dir, 'users'), '"postgres" ""\n');
  writeFileSync(join(dir, 'ini'), `${lines.join('\n')}\n`);
  chmodSync(dir, 0o755);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn(program, ['-q', join(dir, 'ini')], { ...user, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const pooled = url().replace(`:${server}/`, `:${port}/`);
  await until(async () => {
    const client = await connectTo(pooled).catch(() => undefined);
    await client?.end();
    return client !== undefined;
  });
  return pooled;
}

/** A state directory and its daemon, which a test kills. */
export interface MemberProcess {
  home: TestHome;
  daemon: SpawnedDaemon;
  /** `kill -9`, and a new daemon. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** A gateway that has joined the team at `teamUrl`, if one is given. */
export async function startMember(
  options: HomeOptions & { teamUrl?: string | undefined; name?: string },
): Promise<MemberProcess> {
  const { teamUrl, name = 'gateway', ...rest } = options;
  const home = await prepareHome(tmpHome(), rest);
  if (teamUrl !== undefined) await gw(home, 'team', 'join', teamUrl, '--name', name);
  const member: MemberProcess = {
    home,
    daemon: await spawnDaemon(home.paths.home),
    async restart() {
      member.daemon.kill('SIGKILL');
      await member.daemon.exited;
      member.daemon = await spawnDaemon(home.paths.home);
    },
    async stop() {
      member.daemon.kill('SIGTERM');
      await member.daemon.exited;
    },
  };
  return member;
}

async function gw({ paths }: TestHome, ...args: string[]): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: paths.home, GW_HOME: paths.home, NO_COLOR: '1' };
  await promisify(execFile)(process.execPath, [GW, ...args], { env });
}

/** What a gateway has booked in its budgets, and what running requests hold, nano-USD. */
export function bookedBy({ home }: MemberProcess): { posted: number; held: number } {
  return home.db
    .prepare(
      'SELECT coalesce(sum(posted_nano_usd), 0) AS posted, coalesce(sum(pending_nano_usd), 0) AS held FROM budget_periods',
    )
    .get() as { posted: number; held: number };
}

/** The periods of a team as its PostgreSQL has them. */
export async function periodsAt(url: string): Promise<{ allocated: number; spent: number }[]> {
  const client = await connectTo(url);
  const { rows } = await client.query<{ allocated: number; spent: number }>(
    'SELECT allocated, spent FROM gw_team.periods',
  );
  await client.end();
  return rows;
}
