import { expect, test } from 'vitest';
import type { ProviderSettings } from '../../../src/config/settings.ts';
import { isObject } from '../../../src/json/object.ts';
import type { GatewayOptions } from '../../support/gateway.ts';
import { json, type Script } from '../../support/scripts.ts';
import { messageBody, messageUsage, text } from '../../wire/support/messages-shapes.ts';
import { awsProfile, isSignedBy, signedOnly } from './support/aws.ts';
import { ask, startClouds } from './support/clouds.ts';

const REGION = 'eu-central-1';
const CLAUDE = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
const ANNA = { id: 'AKIDANNA', secret: 'secret-anna', token: 'token-anna' };
const ARN = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc';
const TRUE_TOKENS = 10_000;
/** 40,000 bytes, which at $3.30 a million tokens need 26 cents and more. */
const PROMPT = { messages: [{ role: 'user', content: 'word '.repeat(8_000) }] };
/** Room for the count and its margin, and not for the bytes. */
const CAP = { capUsd: 0.09, period: 'daily' } as const;

const refused = (message: string): Script =>
  json(400, { message }, { 'x-amzn-errortype': 'ValidationException' });

/** What CountTokens takes, by its document: the bytes of a valid InvokeModel request, and a foundation model. */
const countTokens: Script = async (exchange) => {
  const { input } = JSON.parse(String(await exchange.body)) as { input: { invokeModel: { body: string } } };
  const [, name = ''] = /^\/model\/([^/]+)\/count-tokens$/.exec(exchange.request.path) ?? [];
  if (decodeURIComponent(name) !== CLAUDE)
    return refused("The provided model doesn't support counting tokens.")(exchange);
  const body: unknown = JSON.parse(String(Buffer.from(input.invokeModel.body, 'base64')));
  if (!isObject(body) || body.anthropic_version !== 'bedrock-2023-05-31')
    return refused('anthropic_version: Field required')(exchange);
  if (typeof body.max_tokens !== 'number') return refused('max_tokens: Field required')(exchange);
  const { thinking } = body;
  if (isObject(thinking) && body.max_tokens <= Number(thinking.budget_tokens))
    return refused('`max_tokens` must be greater than `thinking.budget_tokens`')(exchange);
  const extra = ['model', 'stream'].find((field) => field in body);
  if (extra) return refused(`${extra}: Extra inputs are not permitted`)(exchange);
  return json(200, { inputTokens: TRUE_TOKENS })(exchange);
};

const served: Script = json(
  200,
  messageBody([text('Hi')], { usage: messageUsage(TRUE_TOKENS, 5), model: 'claude-sonnet-4-5-20250929' }),
);

const bedrock: Script = (exchange) =>
  (exchange.request.path.endsWith('/count-tokens') ? countTokens : served)(exchange);

async function start(settings: ProviderSettings, script: Script = bedrock, options: GatewayOptions = {}) {
  const gateway = await startClouds(
    { bedrock: { region: REGION, ...settings } },
    { budget: CAP, settings: { 'optimizer.level': 'off' }, ...options },
  );
  gateway.upstream.script(script);
  const counts = () => gateway.upstream.requests.filter(({ path }) => path.endsWith('/count-tokens'));
  return { ...gateway, counts };
}

const BY_KEY = { credentials: { bedrock: 'key' } };
const THINKING = { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } };

test.each([
  ['runtime', `global.${CLAUDE}`, {}],
  ['invoke', `eu.${CLAUDE}`, {}],
  ['runtime', CLAUDE, {}],
  ['runtime', ARN, {}],
  ['invoke', `arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.${CLAUDE}`, {}],
  ['runtime', `eu.${CLAUDE}`, THINKING],
] as const)('at %s, a prompt to %s is counted as its foundation model', async (surface, model, rest) => {
  const gateway = await start({ surface, deployments: { [ARN]: `eu.${CLAUDE}` } }, bedrock, BY_KEY);
  await gateway.setPrice({ provider: 'bedrock', model, inputPicoUsd: 3_300_000, outputPicoUsd: 4_000_000 });
  const answer = await ask(gateway, `bedrock/${model}`, { ...PROMPT, ...rest });
  expect(answer.status, answer.text()).toBe(200);
  expect(gateway.counts()).toHaveLength(1);
  expect(await gateway.settled(1)).toMatchObject([{ inputTokens: TRUE_TOKENS }]);
});

test('counts are signed as what they are sent as', async () => {
  awsProfile('work').write(ANNA);
  const scope = { region: REGION, service: 'bedrock' };
  const gateway = await start(
    { profile: 'work' },
    signedOnly(() => ANNA, scope, bedrock),
  );
  const answer = await ask(gateway, `bedrock/global.${CLAUDE}`, PROMPT);
  expect(answer.status).toBe(200);
  const [count] = gateway.counts();
  expect(count && (await isSignedBy(count, ANNA, scope))).toBe(true);
});

test('a model that Bedrock does not count for is asked about once, and others still are', async () => {
  const gateway = await start({}, bedrock, BY_KEY);
  for (let i = 0; i < 3; i++)
    expect((await ask(gateway, 'bedrock/global.anthropic.claude-sonnet-4-6', PROMPT)).status).toBe(402);
  expect(gateway.counts()).toHaveLength(1);
  expect((await ask(gateway, `bedrock/global.${CLAUDE}`, PROMPT)).status).toBe(200);
});
