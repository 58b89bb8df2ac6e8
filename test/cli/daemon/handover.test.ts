import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Context } from '../../../src/cli/context.ts';
import { type Daemon, findDaemon } from '../../../src/cli/daemon/find.ts';
import { untilAnswering } from '../../../src/cli/daemon/start.ts';
import { systemClock } from '../../../src/clock.ts';
import { isAlive, writeDaemonInfo } from '../../../src/daemon-info.ts';
import { listen } from '../../../src/server/listen.ts';
import { VERSION } from '../../../src/version.ts';
import { type CliHome, cliHome, stopAfterwards } from '../cli-home.ts';

/** Answers as a gateway that exits with its answer: the end of the connection is the end of the body. */
const LAST_ANSWER = `
  const server = require('node:net').createServer((socket) => socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\\r\\nconnection: close\\r\\n\\r\\n{"version":"1","instance_id":"gw_old"}', () => process.exit());
  }));
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

function contextOf({ paths, env }: CliHome): Context {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  return { ...streams, paths, env, clock: systemClock, program: 'gw', gw: 'gw', version: VERSION } as Context;
}

async function oldGateway(): Promise<{ child: ChildProcess; pid: number; port: number }> {
  const child = spawn(process.execPath, ['-e', LAST_ANSWER], { stdio: 'pipe' });
  onTestFinished(() => void child.kill());
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, pid: child.pid ?? 0, port: Number(text) };
}

describe('while one gateway takes over from another', () => {
  test('an answer of the old one, which has exited since, does not stand for the new one', async () => {
    const context = contextOf(cliHome());
    const { pid, port } = await oldGateway();
    const file = { host: '127.0.0.1', tls: false, startedAt: 0 };
    const old: Daemon = {
      version: '1',
      instance_id: 'gw_old',
      pid,
      port,
      started_at: '',
      origin: '',
      local: '',
    };
    writeFileSync(context.paths.daemonInfo, JSON.stringify({ ...file, instanceId: 'gw_old', pid, port }));

    const server = createServer((_request, response) =>
      response.end('{"version":"1","instance_id":"gw_new"}'),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    // Asked after each round that found nobody. The old one takes a moment to exit.
    const nextRound = () => {
      if (isAlive(pid)) return undefined;
      const address = server.address() as AddressInfo;
      writeDaemonInfo(context.paths, { ...file, instanceId: 'gw_new', port: address.port });
      return undefined;
    };
    expect(await untilAnswering(context, nextRound, old)).toMatchObject({ instance_id: 'gw_new' });
  });

  test('the new one is not taken for a stopped one while it listens and the lock is free', async () => {
    const context = contextOf(cliHome());
    const listener = await listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => listener.close());
    writeDaemonInfo(context.paths, { host: '127.0.0.1', tls: false, port: listener.port });
    expect(await findDaemon(context)).toEqual({ kind: 'silent', pid: process.pid });
  });

  test('a process of another home that is about to answer at the configured port is not taken for this one', async () => {
    const cli = cliHome();
    const listener = await listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => listener.close());
    cli.env.GW_PORT = String(listener.port);
    expect(await findDaemon(contextOf(cli))).toEqual({ kind: 'stopped' });
  });

  test('the old one leaves the file to its successor, which may have just written it', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const { pid } = JSON.parse(readFileSync(cli.paths.daemonInfo, 'utf8')) as { pid: number };
    process.kill(pid, 'SIGUSR2');
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(JSON.parse(readFileSync(cli.paths.daemonInfo, 'utf8'))).toMatchObject({ pid });
    expect((await cli.exec(['stop'])).stderr).toBe('gw is not running.\n');
  });
});
