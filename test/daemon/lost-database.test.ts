import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import { type GatewayOptions, PLAIN, startGateway, type TestGateway, until } from '../support/gateway.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';

/** A gateway whose database is in a folder of its own, and a copy of that folder from before it started. */
async function started(options: GatewayOptions = {}) {
  const outside = tmpHome();
  const folder = join(outside, 'data');
  mkdirSync(folder, { mode: 0o700 });
  const database = join(folder, 'gw.db');
  const before = await startGateway({ database });
  await before.stop();
  const copy = join(outside, 'copy');
  cpSync(folder, copy, { recursive: true });
  const gateway = await startGateway({
    home: dirname(before.paths.config),
    database,
    losesDatabase: true,
    mayLog: /while gw was running|a background job failed/,
    ...options,
  });
  return { gateway, database, folder, copy: join(copy, 'gw.db'), outside };
}

async function refused(gateway: TestGateway): Promise<string> {
  let error: { code: string; message: string } | undefined;
  await until(async () => {
    const answer = await gateway.post(PLAIN);
    error = answer.status === 503 ? (answer.json() as { error: typeof error }).error : undefined;
    return error !== undefined;
  });
  expect(error).toMatchObject({ code: 'storage_unavailable' });
  return error?.message ?? '';
}

type Lost = Awaited<ReturnType<typeof started>>;

/** Everything that people and programs do to files, and how the error names it. */
const LOSSES: [string, (lost: Lost) => void, RegExp][] = [
  ['moved', ({ database }) => renameSync(database, `${database}.old`), /gw\.db was moved or deleted/],
  ['deleted', ({ database }) => rmSync(database), /gw\.db was moved or deleted/],
  ['in a moved folder', ({ folder }) => renameSync(folder, `${folder}.old`), /gw\.db was moved or deleted/],
  ['in a deleted folder', ({ folder }) => rmSync(folder, { recursive: true }), /gw\.db was moved or deleted/],
  [
    'replaced by an older copy',
    ({ database, copy }) => {
      renameSync(copy, database);
    },
    /gw\.db was replaced/,
  ],
  [
    'overwritten with an older copy',
    ({ database, copy }) => copyFileSync(copy, database),
    /gw\.db was overwritten/,
  ],
  ['truncated', ({ database }) => truncateSync(database), /gw\.db was overwritten/],
  [
    'overwritten with text',
    ({ database }) => writeFileSync(database, 'x'.repeat(200)),
    /gw\.db was overwritten/,
  ],
  [
    'restored through SQLite',
    ({ database }) => {
      const db = new Database(database);
      db.pragma('application_id = 0');
      db.close();
    },
    /gw\.db was overwritten/,
  ],
  ['without its log', ({ database }) => rmSync(`${database}-wal`), /gw\.db-wal was moved or deleted/],
  ['with an emptied log', ({ database }) => truncateSync(`${database}-wal`), /gw\.db-wal was overwritten/],
  [
    'with another log',
    ({ database }) => {
      copyFileSync(`${database}-wal`, `${database}-wal2`);
      renameSync(`${database}-wal2`, `${database}-wal`);
    },
    /gw\.db-wal was replaced/,
  ],
  [
    'with an older log written over it',
    ({ database }) => writeFileSync(`${database}-wal`, Buffer.alloc(500_000, 7)),
    /gw\.db-wal was overwritten/,
  ],
  ['without its index', ({ database }) => rmSync(`${database}-shm`), /gw\.db-shm was moved or deleted/],
];

describe('a database under a running daemon', () => {
  test.each(LOSSES)('that is %s is noticed, and requests are refused', async (_name, lose, message) => {
    const lost = await started();
    const { gateway } = lost;
    expect((await gateway.post(PLAIN)).status).toBe(200);
    // The test's own connection would be as lost as the daemon's.
    lose(lost);
    const text = await refused(gateway);
    expect(text).toMatch(message);
    expect(text).toContain('gw stop');
    expect(text).not.toContain(lost.folder);
    const sent = gateway.upstream.requests.length;
    expect((await gateway.get('/v1/usage')).status).toBe(503);
    expect((await gateway.post(PLAIN)).status).toBe(503);
    expect(gateway.upstream.requests).toHaveLength(sent);
    const health = await request(gateway.origin, { method: 'GET', path: '/health' });
    expect(health.status).toBe(503);
    expect(health.json()).toMatchObject({
      status: 'storage_unavailable',
      instance_id: gateway.daemon.instanceId,
    });
  });

  test('stays refused after the file was put back, until a restart', async () => {
    const { gateway, database } = await started();
    renameSync(database, `${database}.old`);
    await refused(gateway);
    renameSync(`${database}.old`, database);
    expect((await gateway.post(PLAIN)).status).toBe(503);
    await gateway.stop();
    const again = await startGateway({ home: dirname(gateway.paths.config), database });
    expect((await again.post(PLAIN)).status).toBe(200);
  });

  test('is not taken for lost after checkpoints, a vacuum, and a second daemon', async () => {
    const { gateway, database } = await started();
    const second = await startGateway({ database });
    for (let i = 0; i < 3; i++) {
      expect((await gateway.post(PLAIN)).status).toBe(200);
      expect((await second.post(PLAIN)).status).toBe(200);
      const db = new Database(database);
      db.exec('VACUUM');
      db.pragma('wal_checkpoint(TRUNCATE)');
      db.close();
    }
    await second.stop();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect((await gateway.post(PLAIN)).status).toBe(200);
  });
});

describe('commands beside a daemon that has lost its database', () => {
  test('refuse to read or create another one, and doctor says what to do', async () => {
    const home = cliHome();
    await home.exec(['keys', 'create']);
    const daemon = await spawnDaemon(home.paths.home, { env: { GW_TIMEZONE: 'UTC' } });
    const { database, daemonInfo } = home.paths;
    for (const suffix of ['', '-wal', '-shm']) rmSync(database + suffix);
    for (const command of [['usage'], ['status'], ['budget', 'set', '5']]) {
      const result = await home.exec(command);
      expect(result, command.join(' ')).toMatchObject({ code: 1, stdout: '' });
      expect(result.stderr).toMatch(/gw\.db was moved/);
    }
    const doctor = await home.exec(['doctor', '--json']);
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({
        name: 'database',
        state: 'broken',
        message: expect.stringMatching(/gw\.db was moved/),
      }),
    );
    await until(async () => readFileSync(daemonInfo, 'utf8').includes('databaseLoss'));
    daemon.kill('SIGTERM');
    await daemon.exited;
    expect((await home.exec(['usage'])).code).toBe(0);
  });
});
