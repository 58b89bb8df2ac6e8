import { expect, test } from 'vitest';
import { completionBody } from '../../support/chat-shapes.ts';
import { until } from '../../support/gateway.ts';
import { json } from '../../support/scripts.ts';
import { startUpstream } from '../../support/upstream.ts';
import { messageBody, text } from '../../wire/support/messages-shapes.ts';
import { ask, headerIn, QUESTION, setEnv, startClouds } from './support/clouds.ts';

const KEY = { credentials: { azure: 'azure-key' } };
const BASE = { baseUrl: '/openai/v1' };

/** An identity of a machine at Azure, whose tokens come from a scripted service. */
async function managedIdentity(lifetimeS: number) {
  let count = 0;
  const service = await startUpstream({
    script: async (exchange) => {
      await exchange.body;
      count++;
      const expires = Math.floor(Date.now() / 1000) + lifetimeS;
      await json(200, { access_token: `entra-token-${count}`, expires_on: expires, token_type: 'Bearer' })(
        exchange,
      );
    },
  });
  setEnv({
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
    IDENTITY_ENDPOINT: `http://127.0.0.1:${service.port}/token`,
    IDENTITY_HEADER: 'header',
  });
  return { service, tokens: () => count };
}

test('a deployment is billed as its model, by the kind of deployment', async () => {
  const deployments = { prod: 'gpt-4.1', zone: 'gpt-4.1,datazone', ours: 'gpt-4.1,provisioned' };
  const gateway = await startClouds({ azure: { ...BASE, deployments } }, KEY);
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
  for (const deployment of Object.keys(deployments)) {
    gateway.upstream.queue(json(200, { ...completionBody('gpt-4.1-2025-04-14', 'Hello', undefined), usage }));
    const response = await gateway.post({ model: `azure/${deployment}`, messages: QUESTION });
    expect(response.status).toBe(200);
  }
  const [request] = gateway.upstream.requests;
  expect(request?.path).toBe('/openai/v1/chat/completions');
  expect(request && headerIn(request, 'api-key')).toBe('azure-key');
  expect((await gateway.records()).map(({ costNanoUsd }) => costNanoUsd)).toEqual([2_800_000, 3_080_000, 0]);
});

test('Claude is reached by its own API', async () => {
  const gateway = await startClouds({ azure: { ...BASE, deployments: { mine: 'claude-opus-4-8' } } }, KEY);
  gateway.upstream.script(json(200, messageBody([text('Hello')], { model: 'claude-opus-4-8' })));
  expect((await ask(gateway, 'azure/mine')).status).toBe(200);
  const [request] = gateway.upstream.requests;
  expect(request?.path).toBe('/anthropic/v1/messages');
  expect(request && headerIn(request, 'x-api-key')).toBe('azure-key');
  expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ model: 'mine' });
  expect((await gateway.records())[0]?.costNanoUsd).toBe(20 * 5000 + 5 * 25_000);
});

test('a token of Entra ID is renewed before its end, while requests go on', async () => {
  const { service, tokens } = await managedIdentity(200);
  const gateway = await startClouds({ azure: { ...BASE, entra: true, deployments: { prod: 'gpt-4.1' } } });
  gateway.upstream.script(json(200, completionBody('gpt-4.1', 'Hello', undefined)));
  const post = () => gateway.post({ model: 'azure/prod', messages: QUESTION });
  expect((await post()).status).toBe(200);
  const [first] = gateway.upstream.requests;
  expect(first && headerIn(first, 'authorization')).toBe('Bearer entra-token-1');
  expect(first && headerIn(first, 'api-key')).toBeUndefined();
  expect((await post()).status).toBe(200);
  await until(() => tokens() >= 2);
  expect((await post()).status).toBe(200);
  const last = gateway.upstream.requests.at(-1);
  expect(last && headerIn(last, 'authorization')).toBe('Bearer entra-token-2');
  await service.close();
});

test('a provisioned deployment passes a cap that is spent, and another one does not', async () => {
  const gateway = await startClouds(
    { azure: { ...BASE, deployments: { ours: 'gpt-4.1,provisioned', prod: 'gpt-4.1' } } },
    { ...KEY, budget: { capUsd: 0, period: 'daily' } },
  );
  gateway.upstream.script(json(200, completionBody('gpt-4.1', 'Hello', undefined)));
  expect((await gateway.post({ model: 'azure/ours', messages: QUESTION })).status).toBe(200);
  expect((await gateway.post({ model: 'azure/prod', messages: QUESTION })).status).toBe(402);
});
