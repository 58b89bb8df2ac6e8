import { connect, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { stageFor } from './stage.ts';

/** A connection of Codex to gw on which the times of a refused upgrade and of the request after it are noted. */
async function watch(port: number) {
  const times: { refusedAt?: number; postedAt?: number } = {};
  const server = createServer((client) => {
    const gw = connect(port, '127.0.0.1');
    client.on('data', (bytes) => {
      if (times.refusedAt !== undefined && bytes.includes('POST /v1/responses'))
        times.postedAt ??= performance.now();
      gw.write(bytes);
    });
    gw.on('data', (bytes) => {
      if (bytes.includes('HTTP/1.1 426')) times.refusedAt ??= performance.now();
      client.write(bytes);
    });
    for (const [from, to] of [[client, gw] as const, [gw, client] as const]) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { times, port: address.port };
}

test("Codex's built-in provider posts within 200 ms of the refused WebSocket", async () => {
  const codex = realAgent('codex');
  const { path, gateway, home, env } = await stageFor({ ...codex, files: () => ({}) });
  const { times, port } = await watch(gateway.daemon.port);
  const args = ['-c', `openai_base_url="http://127.0.0.1:${port}/v1"`, ...codex.args];
  const own = { ...env, CODEX_API_KEY: gateway.key, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' };
  expect(await start(path, args, own, home).output).toContain('Hello you');
  const { refusedAt = Number.NaN, postedAt = Number.NaN } = times;
  console.log(`${Math.round(postedAt - refusedAt)} ms from the refused upgrade to the request`);
  expect(postedAt - refusedAt).toBeLessThan(200);
});
