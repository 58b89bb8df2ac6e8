import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { openConnection, request, requestBytes } from '../support/client.ts';
import { createGate, type Gate } from '../support/gate.ts';
import { PLAIN, STREAM } from '../support/gateway.ts';
import { prepareHome, type TestHome } from '../support/home.ts';
import { hang } from '../support/scripts.ts';
import { runServe, type SpawnedDaemon, spawnDaemon } from '../support/spawned.ts';
import { sse } from '../support/sse-scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const SLOW = { timeout: 30_000 };

interface Setting {
  home: TestHome;
  upstream: Upstream;
  daemon: SpawnedDaemon;
}

async function setUp(): Promise<Setting> {
  const upstream = await startUpstream();
  const home = await prepareHome(tmpHome(), {
    upstreamUrl: upstream.url,
    budget: { period: 'daily', capUsd: 1 },
  });
  return { upstream, home, daemon: await spawnDaemon(home.paths.home) };
}

async function send({ home, daemon }: Setting, body: object) {
  const connection = await openConnection(daemon.url);
  const headers = { authorization: `Bearer ${home.key}` };
  await connection.send(requestBytes(`${daemon.url}/chat/completions`, { body, headers }));
  return connection;
}

/** A stream that has sent its first word and waits at the gate. */
async function runningStream(setting: Setting) {
  const gate: Gate = createGate();
  setting.upstream.queue(sse(['one', 'two'], { pace: gate.pass }));
  const connection = await send(setting, { ...STREAM, max_tokens: 50 });
  gate.open(2);
  await connection.bodyUntil('one');
  return { connection, gate };
}

describe('starting', SLOW, () => {
  test('writes its address, in files that only the owner can read', async () => {
    const { home, daemon } = await setUp();
    const info = JSON.parse(readFileSync(home.paths.daemonInfo, 'utf8'));
    const health = (await request(`http://127.0.0.1:${daemon.port}/health`, { method: 'GET' })).json();
    expect(health).toMatchObject({ instance_id: info.instanceId });
    expect(info).toMatchObject({ pid: daemon.child.pid, port: daemon.port, tls: false });
    const mode = (path: string) => statSync(path).mode & 0o777;
    expect(mode(home.paths.home)).toBe(0o700);
    for (const file of [
      home.paths.database,
      home.paths.daemonInfo,
      home.paths.lock,
      `${home.paths.database}-wal`,
    ]) {
      expect([file, mode(file)]).toEqual([file, 0o600]);
    }
  });

  test('a second time in the same home is refused, and the first daemon keeps running', async () => {
    const setting = await setUp();
    const second = runServe(setting.home.paths.home);
    const { code } = await second.exited;
    expect(code).not.toBe(0);
    expect(second.stderr()).toContain('already running');
    expect((await (await send(setting, PLAIN)).response()).status).toBe(200);
  });

  test('on a port in use says so', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const address = taken.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const second = runServe(tmpHome(), { args: ['--port', port] });
    const { code } = await second.exited;
    taken.close();
    expect(code).not.toBe(0);
    expect(second.stderr()).toContain(port);
    expect(second.stderr()).toContain('gw start --port');
  });
});

describe('stopping', SLOW, () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s lets a running stream end, settles it, and exits',
    async (signal) => {
      const setting = await setUp();
      const { home, daemon } = setting;
      const { connection, gate } = await runningStream(setting);
      daemon.kill(signal);
      await expect
        .poll(() =>
          openConnection(daemon.url).then(
            (open) => open.hangUp(),
            (error) => error.code,
          ),
        )
        .toBe('ECONNREFUSED');
      const ended = performance.now();
      gate.openForGood();
      const answer = await connection.response();
      expect([answer.complete, answer.text().endsWith('data: [DONE]\n\n')]).toEqual([true, true]);
      // The client keeps its connection open, which must not delay the stop.
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
      expect(performance.now() - ended).toBeLessThan(5_000);
      expect(await home.records()).toMatchObject([{ outcome: 'ok', flags: ['stream'] }]);
      expect(home.holds()).toBe(0);
      expect(home.db.prepare('SELECT count(*) FROM daemons').pluck().get()).toBe(0);
      expect(existsSync(home.paths.daemonInfo)).toBe(false);
      connection.hangUp();
    },
  );

  test('does not wait for idle connections', async () => {
    const setting = await setUp();
    const connection = await send(setting, PLAIN);
    expect((await connection.response()).status).toBe(200);
    const asked = performance.now();
    setting.daemon.kill('SIGTERM');
    expect((await setting.daemon.exited).code).toBe(0);
    expect(performance.now() - asked).toBeLessThan(5_000);
  });

  test('is immediate on a second signal; the next start closes the hold at the held amount', async () => {
    const setting = await setUp();
    const { home, daemon } = setting;
    const { connection } = await runningStream(setting);
    daemon.kill('SIGTERM');
    await expect.poll(daemon.stderr).toContain('draining');
    daemon.kill('SIGTERM');
    expect((await daemon.exited).code).toBe(1);
    expect((await connection.response()).complete).toBe(false);
    expect(home.holds()).toBe(1);
    await spawnDaemon(home.paths.home);
    const [record] = await home.settled(1);
    expect(record).toMatchObject({ outcome: 'crashed', flags: ['stream', 'estimated'] });
    expect(record?.costNanoUsd).toBe(record?.holdNanoUsd);
    expect(record?.costNanoUsd).toBeGreaterThan(0);
  });

  test('by kill -9 frees the home for the next start, which closes the hold', async () => {
    const setting = await setUp();
    const { home, daemon, upstream } = setting;
    upstream.queue(hang());
    const connection = await send(setting, { ...PLAIN, max_tokens: 50 });
    await upstream.nextRequest();
    daemon.kill('SIGKILL');
    await daemon.exited;
    await connection.closed;
    expect(home.holds()).toBe(1);
    const next = await spawnDaemon(home.paths.home);
    expect(await home.settled(1)).toMatchObject([{ outcome: 'crashed', flags: ['estimated'], status: 0 }]);
    const period = home.db.prepare(
      'SELECT posted_nano_usd AS posted, pending_nano_usd AS pending FROM budget_periods',
    );
    const [record] = await home.records();
    expect(period.get()).toEqual({ posted: record?.costNanoUsd, pending: 0 });
    expect(next.stderr()).toContain('closed the holds of a daemon that died');
  });
});
