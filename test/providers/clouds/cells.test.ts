import { describe, expect, test } from 'vitest';
import { CLOUD_CASES, scriptedCloud } from '../../campaign/scripted-cloud.ts';
import { diceOf } from '../../fuzz/dice.ts';
import { createGate } from '../../support/gate.ts';
import { json } from '../../support/scripts.ts';
import { ask, QUESTION, startClouds } from './support/clouds.ts';

/** How each cloud refuses more requests than it serves. */
const BUSY = {
  bedrock: json(429, { message: 'Too many requests' }, { 'x-amzn-errortype': 'ThrottlingException' }),
  vertex: json(429, [{ error: { code: 429, message: 'Exhausted', status: 'RESOURCE_EXHAUSTED' } }]),
  azure: json(429, { error: { code: '429', message: 'Slow down' } }, { 'retry-after-ms': '10' }),
  gemini: json(429, { error: { code: 429, message: 'Exhausted', status: 'RESOURCE_EXHAUSTED' } }),
};

describe.each(CLOUD_CASES)('$name', (cloud) => {
  const { provider, model, settings } = cloud;
  const name = `${provider}/${model}`;
  const start = () =>
    startClouds(
      { [provider]: settings },
      {
        credentials: { bedrock: 'key', azure: 'key', gemini: 'key' },
        env: { TOKEN: 'token' },
        budget: { capUsd: 5, period: 'daily' },
      },
    );

  test('a client that hangs up pays for the answer, which is read to its end', async () => {
    const gateway = await start();
    const { script, bills } = scriptedCloud(cloud, diceOf(1, 3));
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      await exchange.body;
      await gate.pass();
      await script(exchange);
    });
    const connection = await gateway.open({
      ...{ model: name, messages: QUESTION, stream: true, max_tokens: 500 },
    });
    await gateway.upstream.nextRequest();
    connection.hangUp();
    await gateway.get('/health');
    gate.openForGood();
    const [record] = await gateway.settled(1);
    expect(record?.costNanoUsd).toBe(bills[0]);
    expect(record?.flags).not.toContain('estimated');
  });

  test('a request too many is told the client in its words, and costs nothing', async () => {
    const gateway = await start();
    gateway.upstream.script(BUSY[provider as keyof typeof BUSY]);
    const refused = await ask(gateway, name);
    expect([refused.status, JSON.parse(refused.text()).error.type]).toEqual([429, 'rate_limit_error']);
    expect(await gateway.settled(1)).toMatchObject([{ costNanoUsd: 0 }]);
  });
});
