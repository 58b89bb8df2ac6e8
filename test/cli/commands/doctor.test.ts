import { chmodSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkPrices } from '../../../src/cli/commands/doctor.ts';
import { checkNode } from '../../../src/cli/doctor/checks.ts';
import { requestIdAt } from '../../../src/ids.ts';
import { PACKAGED_PRICES } from '../../../src/pricing/library.ts';
import { distrustBound } from '../../../src/store/budgets/distrusted-bounds.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { inTransaction } from '../../../src/store/database/write.ts';
import { status } from '../../support/scripts.ts';
import { createWorld, recordOf, startDaemon } from '../../support/simulator.ts';
import { refusingUrl, startUpstream } from '../../support/upstream.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { cliHome } from '../cli-home.ts';

const DAY_MS = 86_400_000;

interface Finding {
  name: string;
  state: string;
  message: string;
  mend: string | null;
}

/** A home with the system's time, because doctor compares the clock with file times. */
function realTimeHome() {
  const cli = cliHome();
  cli.clock = createVirtualClock(Date.now());
  return cli;
}

async function examine(cli: ReturnType<typeof cliHome>): Promise<{ code: number; findings: Finding[] }> {
  const { code, stdout } = await cli.run(['doctor', '--json']);
  return { code, findings: JSON.parse(stdout) as Finding[] };
}

describe('gw doctor', () => {
  test('warns of packaged prices that are more than 60 days old', () => {
    const daysLater = (days: number) =>
      checkPrices({
        paths: cliHome().paths,
        clock: createVirtualClock(PACKAGED_PRICES.releasedAt + days * DAY_MS),
      });
    expect(daysLater(60)).toMatchObject({ name: 'prices', state: 'ok' });
    expect(daysLater(61)).toMatchObject({
      state: 'warning',
      message: expect.stringContaining('2026-09-23, 61 days ago'),
      mend: 'gw prices update',
    });
  });

  test('lists the prices of the pinned version, whose date is recorded beside it', async () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(dependencies['@pydantic/genai-prices']).toBe(PACKAGED_PRICES.version);
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    expect(lock.packages['node_modules/@pydantic/genai-prices'].version).toBe(PACKAGED_PRICES.version);
    const cli = realTimeHome();
    const { findings } = await examine(cli);
    expect(findings).toContainEqual(
      expect.objectContaining({
        name: 'prices',
        message: expect.stringContaining(`genai-prices ${PACKAGED_PRICES.version}`),
      }),
    );
  });

  test('finds nothing broken in a new home, and lists what is still to do', async () => {
    const cli = realTimeHome();
    await cli.run(['projects', 'list']);
    const { code, findings } = await examine(cli);
    expect(code).toBe(0);
    expect(findings.filter(({ state }) => state === 'broken')).toEqual([]);
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'database', message: expect.stringMatching(/^intact, schema \d+, /) }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ name: 'daemon', mend: 'gw start' }));
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'providers', mend: 'gw providers add openai' }),
    );
  });

  test('does not migrate a database that the next start will migrate', async () => {
    const cli = realTimeHome();
    writeFileSync(cli.paths.database, '', { mode: 0o600 });
    const { findings } = await examine(cli);
    expect(findings).toContainEqual(expect.objectContaining({ name: 'database', mend: 'gw restart' }));
    expect(statSync(cli.paths.database).size).toBe(0);
  });

  test('skips the integrity check with --quick, and announces a slow one on a terminal', async () => {
    const cli = realTimeHome();
    await cli.run(['projects', 'list']);
    const long = /^Checking the integrity of the database \(10\d\.\d MB\)\. To skip that: /;
    expect((await cli.run(['doctor'], { tty: true })).stderr).toBe('');
    // A sparse file: large without taking space.
    writeFileSync(`${cli.paths.database}-wal`, '', { mode: 0o600 });
    truncateSync(`${cli.paths.database}-wal`, 101_000_000);
    expect((await cli.run(['doctor'], { tty: true })).stderr).toMatch(long);
    expect((await cli.run(['doctor'])).stderr).toBe('');
    const { stdout, stderr } = await cli.run(['doctor', '--quick'], { tty: true, env: { NO_COLOR: '1' } });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/database +integrity not checked, schema \d+, /);
  });

  test('finds files that other users can read, and fixes them with --fix', async () => {
    const cli = realTimeHome();
    await cli.run(['providers', 'add', 'openai', '--stdin'], { stdin: 'sk-secret-1' });
    chmodSync(cli.paths.credentials, 0o644);
    const { code, stdout, stderr } = await cli.run(['doctor']);
    expect(code).toBe(1);
    expect(stdout).toContain(`X   permissions  other users can open ${cli.paths.credentials}`);
    expect(stdout).toContain('to fix: gw doctor --fix');
    expect(stderr).toMatch(/problems? to fix/);
    await cli.run(['doctor', '--fix']);
    expect(statSync(cli.paths.credentials).mode & 0o777).toBe(0o600);
  });

  test('finds settings that this version no longer has, and says how to delete them', async () => {
    const cli = realTimeHome();
    await cli.run(['projects', 'list']);
    writeFileSync(cli.paths.config, '{"routing":{"hedge":"on","shadow_budget":"0.5"}}', { mode: 0o600 });
    const settings = async () => (await examine(cli)).findings.filter(({ name }) => name === 'settings');
    expect(await settings()).toMatchObject(
      ['routing.hedge', 'routing.shadow_budget'].map((key) => ({
        state: 'warning',
        message: expect.stringContaining(`ignored in the file: ${key} was removed in this version of gw: `),
        mend: `gw config unset ${key}`,
      })),
    );
    for (const key of ['routing.hedge', 'routing.shadow_budget']) await cli.run(['config', 'unset', key]);
    expect(await settings()).toEqual([]);
  });

  test('shows what takes space in the database, and how many records will be deleted', async () => {
    const cli = realTimeHome();
    const size = async () => (await examine(cli)).findings.find(({ name }) => name === 'size');
    await cli.run(['projects', 'list']);
    expect((await size())?.message).toMatch(/other \d.*, write-ahead log \d/);
    const db = await cli.open();
    const { ledger } = startDaemon(db, createWorld(), 0);
    const now = Date.now();
    for (let i = 0; i < 300; i++) await ledger.record(recordOf(requestIdAt(now - 100 * DAY_MS) + i));
    await ledger.record(recordOf(requestIdAt(now)));
    expect(await size()).toMatchObject({
      state: 'ok',
      message: expect.stringMatching(
        /requests \d+\.\d kB.*; requests since \d{4}-\d\d-\d\d are kept for 90d .*, and 300 records will be deleted while gw runs$/,
      ),
    });
    await cli.run(['config', 'set', 'retention.requests', 'off']);
    expect((await size())?.message).toContain('are kept forever');
  });

  test('finds a damaged database, and says how to restore a backup', async () => {
    const cli = realTimeHome();
    writeFileSync(cli.paths.database, 'no database at all, but long enough to be looked at. '.repeat(100), {
      mode: 0o600,
    });
    const { code, findings } = await examine(cli);
    expect(code).toBe(1);
    const [fault] = findings.filter(({ state }) => state === 'broken');
    expect(fault).toMatchObject({
      name: 'database',
      message: expect.stringContaining('file is not a database'),
    });
    expect(fault?.mend).toContain('gw backup');
  });

  test('finds a key that a provider refuses, and does not show it', async () => {
    const upstream = await startUpstream({ models: status(401) });
    const cli = realTimeHome();
    await cli.run(['providers', 'add', 'mine', '--base-url', upstream.url, '--stdin'], {
      stdin: 'sk-secret-2',
    });
    const { code, stdout } = await cli.run(['doctor']);
    await upstream.close();
    expect(code).toBe(1);
    expect(stdout).toContain('mine: it refused the stored key (HTTP 401)');
    expect(stdout.replace(/\s+/g, ' ')).toContain(`gw providers add mine --base-url ${upstream.url}`);
    expect(stdout).not.toContain('sk-secret-2');
  });

  test('does not blame the key of an unreachable provider', async () => {
    const cli = realTimeHome();
    const added = ['mine', '--base-url', await refusingUrl(), '--stdin'];
    await cli.run(['providers', 'add', ...added], { stdin: 'sk-secret-2' });
    const { findings } = await examine(cli);
    expect(findings).toContainEqual(
      expect.objectContaining({
        name: 'providers',
        state: 'broken',
        mend: 'check the network connection, or set another address: gw providers add mine --base-url URL',
      }),
    );
  });

  test('finds a clock that is behind the last request', async () => {
    const cli = realTimeHome();
    await cli.run(['projects', 'list']);
    await cli.record({ timeMs: Date.now() + 86_400_000 });
    const { findings } = await examine(cli);
    expect(findings).toContainEqual(expect.objectContaining({ name: 'clock', state: 'broken' }));
  });

  test('finds a key file that is not JSON, without showing what is in it', async () => {
    const cli = realTimeHome();
    writeFileSync(cli.paths.cliKeys, 'sk-gw-not-json', { mode: 0o600 });
    const { stdout } = await cli.run(['doctor']);
    expect(stdout).toContain(`${cli.paths.cliKeys} is not JSON`);
    const { code, stderr } = await cli.run(['env']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `gw: ${cli.paths.cliKeys} is not JSON: a JSON object was expected (line 1, column 1). Run: gw doctor\n`,
    });
    expect(stdout + stderr).not.toContain('sk-gw');
  });

  test('detects a Node that is too old', () => {
    expect(checkNode('20.18.3').state).toBe('broken');
    expect(checkNode('20.19.0').state).toBe('ok');
    expect(checkNode('24.0.0').state).toBe('ok');
  });

  test('lists input bounds that a provider exceeded, and switches them on again', async () => {
    const cli = realTimeHome();
    await cli.run(['projects', 'list']);
    const db = await openDatabase(cli.paths.database);
    const row = {
      provider: 'mock',
      model: 'm',
      bound: 'edit',
      at: cli.clock.now(),
      requestId: requestIdAt(cli.clock.now()),
    };
    inTransaction(db, () => distrustBound(db, row));
    db.close();
    const holds = async () => (await examine(cli)).findings.filter(({ name }) => name === 'holds');
    expect(await holds()).toMatchObject([
      {
        state: 'warning',
        message: expect.stringContaining('mock/m reported more input than the edit bound'),
      },
    ]);
    expect((await cli.run(['status'])).stdout).toContain('1 problem: ');
    expect((await cli.run(['doctor', '--trust-bounds'])).stderr).toContain('Switched 1 bound on again.');
    expect(await holds()).toMatchObject([{ state: 'ok' }]);
  });
});
