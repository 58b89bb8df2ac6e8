import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { execute, type RunOptions } from '../cli/cli-home.ts';
import { makeOldDatabase } from '../support/database-0-1-0.mjs';
import { systemctlFolder } from '../support/systemctl.ts';
import { tmpHome } from '../support/tmp-home.ts';

const ROOT = join(import.meta.dirname, '../..');

/** An agent that asks `model` for a stream and prints what it gets. */
const AGENT = `const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env;
const answer = await fetch(OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ' + OPENAI_API_KEY },
  body: JSON.stringify({ model: process.argv[1], stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
});
console.log(answer.status);
for await (const bytes of answer.body) process.stdout.write(bytes);`;
const agent = (model: string) => [process.execPath, '--input-type=module', '-e', AGENT, model];

/**
 * gw as `npm install -g` lays it out from its tarball. The dependencies are this checkout's, or npm's own with GW_LONG:
 * fetching and compiling them takes a minute.
 */
function installPackage(): string {
  const prefix = tmpHome();
  const npm = (...args: string[]) =>
    execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const tarball = join(prefix, npm('pack', '--ignore-scripts', '--pack-destination', prefix).trim());
  if (process.env.GW_LONG) npm('install', '--global', '--prefix', prefix, tarball);
  else {
    const folder = join(prefix, 'lib/node_modules/gw');
    mkdirSync(folder, { recursive: true });
    mkdirSync(join(prefix, 'bin'));
    execFileSync('tar', ['xzf', tarball, '-C', folder, '--strip-components=1']);
    for (const name of productionPackages()) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      symlinkSync(join(ROOT, name), join(folder, name));
    }
    symlinkSync('../lib/node_modules/gw/bin/gw', join(prefix, 'bin/gw'));
  }
  return join(prefix, 'bin');
}

/** `node_modules/NAME` of each package that npm installs with gw: what only a checkout has is left out. */
function productionPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; optional?: true; devOptional?: true }>;
  };
  return Object.entries(packages)
    .filter(
      ([path, { dev, devOptional }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !devOptional,
    )
    .map(([path]) => path);
}

/** An empty account on a machine that has gw on its PATH. */
function newAccount() {
  const HOME = tmpHome();
  const PATH = [installPackage(), systemctlFolder(), process.env.PATH].join(':');
  const base = { HOME, PATH, GW_TIMEZONE: 'UTC', LANG: 'C.UTF-8' };
  const start = (args: string[], env: Record<string, string> = {}) =>
    spawn('gw', args, { env: { ...base, ...env }, stdio: 'pipe' });
  const gw = (line: string, { stdin, env }: RunOptions = {}) => execute(start(line.split(' '), env), stdin);
  const fine = async (line: string, options?: RunOptions) => {
    const { code, stdout, stderr } = await gw(line, options);
    expect([line, code, stderr]).toEqual([line, 0, expect.anything()]);
    return stdout + stderr;
  };
  const run = (model: string) => execute(start(['run', '--', ...agent(model)]));
  return { HOME, base, start, gw, fine, run };
}

/** A receiver of webhooks. */
async function receiver() {
  const seen: string[] = [];
  const heard = new EventEmitter();
  const server = createServer(async (request, response) => {
    const body = String(await buffer(request));
    if (body) seen.push((JSON.parse(body) as { type: string }).type);
    response.end();
    heard.emit('event');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const until = async (type: string) => {
    while (!seen.includes(type)) await once(heard, 'event');
  };
  return { port: (server.address() as AddressInfo).port, until };
}

test('a month with gw, from nothing but its package', { timeout: 600_000 }, async (context) => {
  const { HOME, base, start, gw, fine, run } = newAccount();
  const home = join(HOME, '.local/share/gw');
  onTestFinished(async () => void (await gw('service uninstall')));

  await context.annotate('install, and keep it running');
  expect(await fine('--version')).toMatch(/^\d+\.\d+\.\d+ \(\w+, schema \d+\)\n$/);
  await fine('config set port 0');
  expect(await fine('service install')).toMatch(/^gw runs as a service of systemd \(pid \d+\)/m);
  const unit = join(HOME, '.config/systemd/user/gw.service');
  if (spawnSync('systemd-analyze', ['--version']).status === 0) {
    const verify = ['verify', '--user', '--man=no', unit];
    expect(spawnSync('systemd-analyze', verify, { env: { ...base, XDG_RUNTIME_DIR: HOME } }).status).toBe(0);
  }

  await context.annotate('the first agent, a cap, a refusal, an alert');
  const { port, until } = await receiver();
  await fine(`webhooks add http://127.0.0.1:${port}/hook`);
  expect((await run('sandbox/echo')).stdout).toMatch(/^200\n(.*\n)+data: \[DONE\]/);
  await fine('budget set 0.0001 --alert 50');
  await until('budget.threshold_reached');
  const refused = (await run('sandbox/echo')).stdout;
  await until('request.blocked');
  const { error } = JSON.parse(refused.replace(/^402\n/, '')) as { error: { code: string; command: string } };
  expect(error.code).toBe('budget_exceeded');
  expect(await fine('requests --status blocked')).toContain('402');
  expect((await execute(spawn('sh', ['-c', error.command], { env: base }))).code).toBe(0);
  expect((await run('sandbox/echo')).stdout).toMatch(/^200\n/);

  await context.annotate('stop everything');
  const slow = start(['run', '--', ...agent('sandbox/slow')]);
  const ended = execute(slow);
  await once(slow.stdout, 'data');
  expect(await fine('projects pause --all --cut')).toContain('To resume: gw projects resume --all');
  expect((await ended).stdout).toContain('"code":"project_paused"');
  expect((await run('sandbox/free')).stdout).toMatch(/^403\n.*project default is paused\. To resume it: gw/);
  expect(await fine('status')).toMatch(/^paused +default; to resume: gw projects resume default$/m);
  await fine('projects resume --all');

  await context.annotate('back up, and restore elsewhere');
  const backup = join(HOME, 'gw-backup.db');
  await fine(`backup ${backup} --with-keys --stdin`, { stdin: 'correct horse' });
  const env = { GW_HOME: join(HOME, 'second') };
  const damaged = join(HOME, 'damaged.db');
  writeFileSync(damaged, readFileSync(backup).fill(0, 8_192, 16_384));
  for (const [file, stdin, reason] of [
    [damaged, 'correct horse', /damaged/],
    [backup, 'wrong horse', /passphrase/],
  ] as const) {
    const { code, stderr } = await gw(`restore ${file} --stdin`, { env, stdin });
    expect([code, stderr]).toEqual([expect.not.toSatisfy((it) => it === 0), expect.stringMatching(reason)]);
    expect(existsSync(env.GW_HOME)).toBe(false);
  }
  await fine(`restore ${backup} --stdin`, { env, stdin: 'correct horse' });
  expect(await fine('usage --json', { env })).toBe(await fine('usage --json'));
  const again = await gw(`restore ${backup} --no-keys`, { env });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('To go ahead, add --yes')]);

  await context.annotate('a newer database, and a taken port');
  const newer = new Database(join(env.GW_HOME, 'gw.db'));
  newer.pragma('user_version = 999');
  newer.close();
  const before = readFileSync(join(env.GW_HOME, 'gw.db'));
  const old = await gw('start', { env });
  expect([old.code, old.stderr]).toEqual([1, expect.stringContaining('was written by a newer gw')]);
  expect(readFileSync(join(env.GW_HOME, 'gw.db')).equals(before)).toBe(true);
  const taken = await gw(`start --port ${port}`, { env: { GW_HOME: join(HOME, 'third') } });
  expect([taken.code, taken.stderr]).toEqual([
    1,
    expect.stringMatching(`port ${port} is used by .*which is not gw`),
  ]);

  await context.annotate('upgrade from 0.1.0');
  const former = { GW_HOME: join(HOME, 'former') };
  mkdirSync(former.GW_HOME, { mode: 0o700 });
  const days = { days: 3, start: Date.UTC(2026, 2, 1) };
  const database = makeOldDatabase(join(former.GW_HOME, 'gw.db'), { requests: 300, ...days });
  const total = database
    .prepare('SELECT count(*) AS requests, sum(cost_nano_usd) AS cost FROM requests')
    .get();
  database.close();
  const report = JSON.parse(await fine('usage --from 2026-03-01 --to 2026-03-03 --json', { env: former }));
  expect({ requests: report.total.requests, cost: report.total.cost_nano_usd }).toEqual(total);
  expect(readdirSync(former.GW_HOME)).toContain('gw.db.schema-6.bak');
  expect(existsSync(home)).toBe(true);
});
