import { spawn } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { VERSION } from '../../src/version.ts';
import { execute } from '../cli/cli-home.ts';
import { openConnection, request, requestBytes } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { PLAIN, STREAM } from '../support/gateway.ts';
import { prepareHome } from '../support/home.ts';
import { runServe, spawnDaemon } from '../support/spawned.ts';
import { sse } from '../support/sse-scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A copy of the built program that says it is another version. */
function programOf(version: string): string {
  const folder = tmpHome();
  for (const part of ['bin', 'dist']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  return join(folder, 'bin/gw');
}

async function setUp(program?: string) {
  const upstream = await startUpstream();
  const home = await prepareHome(tmpHome(), {
    upstreamUrl: upstream.url,
    budget: { period: 'daily', capUsd: 1 },
  });
  const daemon = await spawnDaemon(home.paths.home, program ? { program } : {});
  const env = { PATH: process.env.PATH, HOME: home.paths.home, GW_HOME: home.paths.home, GW_PORT: '0' };
  const gw = (...args: string[]) =>
    execute(spawn(process.execPath, [join(ROOT, 'bin/gw'), ...args], { env, stdio: 'pipe' }));
  onTestFinished(async () => void (await gw('stop', '--now')));
  const send = async (body: object) => {
    const connection = await openConnection(daemon.url);
    const headers = { authorization: `Bearer ${home.key}` };
    await connection.send(requestBytes(`${daemon.url}/chat/completions`, { body, headers }));
    return connection;
  };
  const info = () => JSON.parse(readFileSync(home.paths.daemonInfo, 'utf8'));
  const health = async () => {
    const answer = await request(`http://127.0.0.1:${daemon.port}/health`, { method: 'GET' });
    return { status: answer.status, body: answer.json() as { status: string; instance_id?: string } };
  };
  return { upstream, home, daemon, gw, send, info, health };
}

/** The longest time without a connection to the port, while `work` runs. In ms. */
async function longestGap(url: string, work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  let last = performance.now();
  let longest = 0;
  while (!isOver) {
    const open = await openConnection(url).catch(() => undefined);
    if (open) {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
      open.hangUp();
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await ended;
  return longest;
}

describe('a daemon that takes over', { timeout: 60_000 }, () => {
  test.each([
    ['of the same version', 'restart', undefined],
    ['of a newer version', 'start', '0.1.9'],
    ['of this version, from 0.2.0,', 'start', '0.2.0'],
  ])('%s by gw %s keeps the port open and cuts no request', async (_, command, version) => {
    const { upstream, home, daemon, gw, send, info, health } = await setUp(version && programOf(version));
    const gate = createGate();
    upstream.queue(sse(['one', 'two'], { pace: gate.pass }));
    const running = await send({ ...STREAM, max_tokens: 50 });
    gate.open(2);
    await running.bodyUntil('one');
    const replaced = gw(command);
    const gap = longestGap(daemon.url, replaced);
    await expect.poll(async () => (await health()).body, { timeout: 20_000 }).toEqual({ status: 'starting' });
    const waiting = await send(PLAIN);
    gate.openForGood();
    const answer = await running.response();
    expect([answer.complete, answer.text().endsWith('data: [DONE]\n\n')]).toEqual([true, true]);
    expect((await waiting.response()).status).toBe(200);
    expect(await replaced).toMatchObject({ code: 0 });
    expect(await gap).toBeLessThan(2_000);
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expect(info()).toMatchObject({ port: daemon.port, instanceId: (await health()).body.instance_id });
    expect(info().pid).not.toBe(daemon.child.pid);
    expect((await home.records()).map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
    expect(home.holds()).toBe(0);
    if (version) expect((await replaced).stderr).toContain(`gw ${VERSION} took over from gw ${version}.\n`);
    running.hangUp();
    waiting.hangUp();
  });

  test('is not started by an older version, which leaves the newer as it is', async () => {
    const { gw, info, daemon } = await setUp(programOf('99.0.0'));
    expect((await gw('start')).stdout).toContain('gw is already running');
    expect(info().pid).toBe(daemon.child.pid);
  });

  test('that cannot start leaves the other in its place', async () => {
    const { home, daemon, health } = await setUp();
    const bad = runServe(home.paths.home, {
      args: ['--replace', `${daemon.child.pid}`, '--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.pem'],
    });
    expect((await bad.exited).code).not.toBe(0);
    expect((await health()).status).toBe(200);
  });
});
