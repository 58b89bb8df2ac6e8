import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { request } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { reset } from '../support/scripts.ts';

const MB = 1024 ** 2;
/** Room for two bodies of a megabyte. */
const SETTINGS = { 'limits.max_memory_bytes': 11 * MB, 'admission.max_wait_ms': 60_000 };
const LARGE = { ...PLAIN, user: 'x'.repeat(MB) };

const zipped = (gateway: TestGateway, body: unknown) =>
  request(`${gateway.url}/chat/completions`, {
    body: gzipSync(JSON.stringify(body)),
    headers: {
      authorization: `Bearer ${gateway.key}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
  });

/** Three requests of a megabyte that the provider keeps: the third passes the limit. */
async function full(settings = {}) {
  const gateway = await startGateway({ settings: { ...SETTINGS, ...settings } });
  const gate = createGate();
  gateway.upstream.script(async (exchange) => {
    await exchange.body;
    await gate.pass();
    await reset()(exchange);
  });
  const running: Promise<unknown>[] = [];
  for (let i = 0; i < 3; i++) {
    running.push(gateway.post(LARGE));
    await gateway.upstream.nextRequest();
  }
  return { gateway, gate, running };
}

test.each([
  ['plain', (gateway: TestGateway) => gateway.post(LARGE)],
  ['compressed', (gateway: TestGateway) => zipped(gateway, LARGE)],
])('a %s body that finds no room waits until another request has ended', async (_kind, send) => {
  const { gateway, gate, running } = await full();
  const waiting = send(gateway);
  // It would have been sent by then: a request takes a few turns.
  for (let i = 0; i < 50; i++) await gateway.get('/health');
  const sent = gateway.upstream.requests.length;
  gate.openForGood();
  await Promise.all([...running, waiting]);
  expect(sent).toBe(3);
  expect(gateway.upstream.requests).toHaveLength(4);
});

test('a compressed body that grows beyond the room is a 503 when there is none in time', async () => {
  const { gateway, gate, running } = await full({ 'admission.max_wait_ms': 30 });
  const answer = await zipped(gateway, LARGE);
  expect(answer.status).toBe(503);
  expect(answer.header('retry-after')).toBe('2');
  expect(answer.json()).toMatchObject({ error: { code: 'overloaded' } });
  gate.openForGood();
  await Promise.all(running);
  // All memory is free again.
  const next = [1, 2].map(() => zipped(gateway, LARGE));
  for (const { status } of await Promise.all(next)) expect(status).toBe(502);
});
