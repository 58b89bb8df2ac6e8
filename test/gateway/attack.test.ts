import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type GatewayOptions, PLAIN, STREAM, startGateway, type TestGateway } from '../support/gateway.ts';
import { respond } from '../support/scripts.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };

function budgeted(options: GatewayOptions = {}): Promise<TestGateway> {
  return startGateway({ ...BUDGET, ...options });
}

/** The one record, once nothing is held any more. */
async function recordOf(gateway: TestGateway) {
  const [record] = await gateway.settled(1);
  if (!record) throw new Error('nothing is on record');
  return record;
}

describe('what an answer cost', () => {
  test('is counted where it is nested deeper than a stack', async () => {
    const gateway = await budgeted();
    const content = `${'['.repeat(50_000)}"Hello"${']'.repeat(50_000)}`;
    gateway.upstream.queue(respond(200, JSON_TYPE, `{"choices":[{"message":{"content":${content}}}]}`));
    expect((await gateway.post({ ...PLAIN, max_tokens: 50 })).status).toBe(200);
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 'Hello'.length, flags: ['estimated'] });
  });

  const EVENTS = { id: 'x', choices: [{ index: 0, delta: { content: 'word '.repeat(20) } }] };
  const asEvents = (...values: object[]) =>
    `${values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')}data: [DONE]\n\n`;

  test.each([{ 'content-type': 'text/plain' }, { 'content-type': 'application/json' }, {}])(
    'is read from events that come as %j',
    async (headers: Record<string, string>) => {
      const gateway = await budgeted();
      const usage = { prompt_tokens: 7, completion_tokens: 20 };
      gateway.upstream.queue(respond(200, headers, asEvents(EVENTS, { choices: [], usage })));
      gateway.upstream.queue(respond(200, headers, asEvents(EVENTS)));
      for (const _ of [1, 2]) await gateway.post({ ...STREAM, max_tokens: 200 });
      const [reported, counted] = await gateway.settled(2);
      expect(reported).toMatchObject({ inputTokens: 7, outputTokens: 20, flags: ['stream'] });
      expect(counted).toMatchObject({ outputTokens: 100, flags: ['stream', 'estimated'] });
    },
  );

  test('is read from an event of two megabytes', async () => {
    const gateway = await budgeted();
    const usage = { prompt_tokens: 7, completion_tokens: 20 };
    const image = { delta: { images: ['x'.repeat(2 * 1024 * 1024)] } };
    const events = asEvents({ choices: [image], usage });
    gateway.upstream.queue(respond(200, { 'content-type': 'text/event-stream' }, events));
    await gateway.post({ ...STREAM, max_tokens: 200 });
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 20, flags: ['stream'] });
  });

  test.each([
    ['cut short', gzipSync(`{"usage":{"prompt_tokens":7,"completion_tokens":20}}`).subarray(0, 30), 'gzip'],
    ['too large', gzipSync('x'.repeat(17 * 1024 * 1024)), 'gzip'],
    ['in an encoding that gw does not read', brotliCompressSync('{}'), 'br'],
  ])('is all that was held where the answer is %s', async (_how, body, encoding) => {
    const gateway = await budgeted();
    gateway.upstream.queue(respond(200, { ...JSON_TYPE, 'content-encoding': encoding }, body));
    await gateway.post({ ...PLAIN, max_tokens: 200 });
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 200, flags: ['estimated'] });
  });
});
