import { AzureOpenAI } from 'openai';
import { afterAll, expect, test } from 'vitest';
import type { LearntDeployments } from '../../../src/pricing/deployments.ts';
import { azureAccount } from '../../../src/providers/clouds/azure/azure.ts';
import { createAzureDeployments } from '../../../src/providers/clouds/azure/deployments.ts';
import type { Provider } from '../../../src/providers/registry.ts';
import { commandLineOf } from '../../cli/cli-home.ts';
import { completionBody } from '../../support/chat-shapes.ts';
import { type TestGateway, until } from '../../support/gateway.ts';
import { json } from '../../support/scripts.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { messageBody, text } from '../../wire/support/messages-shapes.ts';
import { ask, headerIn, QUESTION, setEnv, startClouds } from './support/clouds.ts';

const KEY = { credentials: { azure: 'azure-key' } };
const BASE = { baseUrl: '/openai/v1' };

let identityService: Promise<Upstream> | undefined;
afterAll(async () => (await identityService)?.close());

/**
 * An identity of a machine at Azure, whose tokens come from a scripted service: one for all tests, as Azure's package keeps
 * its address for the process.
 */
async function managedIdentity(lifetimeS: number) {
  let count = 0;
  identityService ??= startUpstream();
  const service = await identityService;
  service.script(async (exchange) => {
    await exchange.body;
    count++;
    const expires = Math.floor(Date.now() / 1000) + lifetimeS;
    await json(200, { access_token: `entra-token-${count}`, expires_on: expires, token_type: 'Bearer' })(
      exchange,
    );
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
  const { tokens } = await managedIdentity(200);
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
});

test.each([
  ['https://r.openai.azure.com/openai/v1', 'https://ai.azure.com'],
  ['https://r.openai.azure.us/openai/v1', 'https://cognitiveservices.azure.us'],
  ['https://r.openai.azure.cn/openai/v1', 'https://cognitiveservices.azure.cn'],
])('a token of Entra ID for %s is for %s', async (baseUrl, resource) => {
  const { service } = await managedIdentity(3600);
  const account = azureAccount({ settings: { baseUrl, entra: true }, key: undefined });
  if (typeof account === 'string') throw new Error(account);
  const request = { method: 'POST', origin: baseUrl, path: '/', headers: [], body: null };
  expect(await account.cloud.signer?.sign(request)).toEqual(['authorization', 'Bearer entra-token-1']);
  const asked = service.requests.at(-1);
  expect(new URL(asked?.path ?? '', baseUrl).searchParams.get('resource')).toBe(resource);
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

const USED = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
const answerOf = (model: string) => json(200, { ...completionBody(model, 'Hello', undefined), usage: USED });

test('a deployment without a setting has the price of the model that its first answer names', async () => {
  const start = (home: { home?: string }) => startClouds({ azure: BASE }, { ...KEY, ...home });
  const ask = async (gateway: TestGateway, name: string) =>
    (await gateway.post({ model: `azure/${name}`, messages: QUESTION, max_tokens: 100 })).status;
  const first = await start({});
  first.upstream.script(answerOf('gpt-4.1-2025-04-14'));
  expect(await ask(first, 'work')).toBe(200);
  await first.settled(1);
  await first.setBudget({ capUsd: 1, period: 'daily' });
  await until(async () => (await ask(first, 'work')) === 200);
  expect(await ask(first, 'other')).toBe(402);
  const cli = commandLineOf(first, 'locally', createVirtualClock(Date.now()));
  const shown = await cli.run(['providers', 'show', 'azure']);
  expect(shown.stdout).toContain('work = gpt-4.1-2025-04-14, as its answers say');
  await first.stop();
  const again = await start({ home: first.paths.home });
  again.upstream.script(answerOf('gpt-4.1-2025-04-14'));
  expect(await ask(again, 'work')).toBe(200);
  const served = (await again.records()).filter(({ outcome }) => outcome === 'ok');
  expect(new Set(served.map(({ costNanoUsd }) => costNanoUsd))).toEqual(new Set([2_800_000]));
  // Another model costs its own price, and what is held for the deployment stays for a day.
  again.upstream.script(answerOf('gpt-4.1-mini-2025-04-14'));
  expect(await ask(again, 'work')).toBe(200);
  expect((await again.records()).at(-1)).toMatchObject({ costNanoUsd: 560_000, flags: ['other_model'] });
});

test('a backtest over HTTP has the price of a deployment that an answer has named, as the command has', async () => {
  const gateway = await startClouds({ azure: BASE }, KEY);
  gateway.upstream.script(answerOf('gpt-4.1-2025-04-14'));
  const post = () => gateway.post({ model: 'azure/work', messages: QUESTION, max_tokens: 100 });
  const query = '/v1/gw/budgets/backtest?cap_usd=0.001&fallback=azure/work';
  expect((await gateway.get(query)).text()).toContain('no price of');
  await post();
  await post();
  await gateway.settled(2);
  const cheaper = [{ model: 'azure/work', input_usd_per_million: 2, output_usd_per_million: 8 }];
  const expected = { fallback: { models: cheaper } };
  await expect.poll(async () => (await gateway.get(query)).json()).toMatchObject(expected);
  const cli = commandLineOf(gateway, 'locally', createVirtualClock(Date.now()));
  const words = ['budget', 'backtest', '0.001', '--on-limit', 'fallback:azure/work'];
  expect(await cli.json(words)).toMatchObject(expected);
});

test('a model is learnt anew after a day, and none where the user has named it or Azure chooses', () => {
  let now = 0;
  const changes: LearntDeployments[] = [];
  const deployments = createAzureDeployments({
    saved: {},
    now: () => now,
    onChange: (learnt) => changes.push(structuredClone(learnt)),
  });
  const own = { name: 'azure-work', knownAs: 'azure' };
  const learn = (model: string, served: string | undefined, rest: Partial<Provider> = {}) =>
    deployments.learn({ provider: { ...own, ...rest }, model }, served);
  learn('prod', 'gpt-4.1');
  learn('prod', undefined);
  now = 86_399_999;
  learn('prod', 'gpt-5.4');
  expect(changes).toEqual([{ 'azure-work': { prod: { model: 'gpt-4.1', at: 0 } } }]);
  now += 1;
  learn('prod', 'gpt-4.1');
  learn('prod', 'gpt-5.4');
  expect(changes[1]).toEqual({ 'azure-work': { prod: { model: 'gpt-5.4', at: now } } });
  learn('mine', 'gpt-4.1', { deployments: { mine: 'gpt-4.1' } });
  learn('gpt-x', 'gpt-4.1', { knownAs: 'openai' });
  learn('model-router', 'gpt-4.1', { name: 'azure' });
  expect(changes).toHaveLength(2);
});

test('the client of Azure OpenAI, which names deployments in paths, is served by the account', async () => {
  const gateway = await startClouds({ azure: { ...BASE, deployments: { prod: 'gpt-4.1' } } }, KEY);
  gateway.upstream.script(answerOf('gpt-4.1-2025-04-14'));
  const client = new AzureOpenAI({
    ...{ endpoint: gateway.origin, apiKey: gateway.key, apiVersion: '2024-10-21', maxRetries: 0 },
    deployment: 'prod',
  });
  const answer = await client.chat.completions.create({ model: 'prod', messages: QUESTION });
  expect(answer.choices[0]?.message.content).toBe('Hello');
  expect(gateway.upstream.requests[0]?.path).toBe('/openai/v1/chat/completions');
  expect(await gateway.settled(1)).toMatchObject([
    { provider: 'azure', model: 'prod', costNanoUsd: 2_800_000 },
  ]);
  await gateway.setBudget({ capUsd: 0, period: 'daily' });
  await expect(client.chat.completions.create({ model: 'prod', messages: QUESTION })).rejects.toMatchObject({
    status: 402,
    code: 'budget_exceeded',
  });
});
