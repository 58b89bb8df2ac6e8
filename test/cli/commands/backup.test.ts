import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectDatabase } from '../../../src/store/database/inspect.ts';
import { cliHome } from '../cli-home.ts';

test('gw backup makes a complete, private copy of an open database', async () => {
  const cli = cliHome();
  await cli.run(['projects', 'list']);
  const db = await cli.open();
  await cli.record({ timeMs: cli.clock.now() }, { timeMs: cli.clock.now() });
  expect(db.open).toBe(true);
  const copy = join(cli.paths.home, 'copy.db');
  const { code, stderr } = await cli.run(['backup', copy]);
  expect(code).toBe(0);
  expect(stderr).toMatch(/^Backed up to .*copy\.db: \d+\.\d kB, 2 requests, checked\.\n$/);
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  expect(inspectDatabase(copy)).toMatchObject({ faults: [], requests: 2 });
  expect(readdirSync(cli.paths.home).filter((name) => name.includes('partial'))).toEqual([]);
});

test('gw backup replaces a file only with --force', async () => {
  const cli = cliHome();
  const copy = join(cli.paths.home, 'copy.db');
  await cli.run(['backup', copy]);
  const again = await cli.run(['backup', copy]);
  expect(again).toMatchObject({
    code: 1,
    stderr: `gw: ${copy} already exists. To replace it, add --force\n`,
  });
  expect((await cli.run(['backup', copy, '--force'])).code).toBe(0);
  expect(await cli.run(['backup', cli.paths.home, '--force'])).toMatchObject({
    code: 2,
    stderr: `gw: ${cli.paths.home} is a folder, not a file\n`,
  });
});

test.runIf(process.platform !== 'win32')('gw backup names the file for which there is no space', async () => {
  const cli = cliHome();
  await cli.run(['projects', 'list']);
  const target = join(cli.paths.home, 'copy.db');
  const { status, stderr } = cli.limited(100, ['backup', target]);
  expect(status).toBe(1);
  expect(stderr).toMatch(`gw: cannot write ${target}: `);
  expect(readdirSync(cli.paths.home).filter((name) => name.startsWith('copy'))).toEqual([]);
});

test('gw backup leaves nothing behind if it cannot write', async () => {
  const cli = cliHome();
  const target = join(cli.paths.home, 'no', 'such', 'folder.db');
  const { code, stderr } = await cli.run(['backup', target]);
  expect(code).toBe(5);
  expect(stderr).toBe(`gw: there is no folder ${dirname(target)}\n`);
  expect(existsSync(target)).toBe(false);
});
