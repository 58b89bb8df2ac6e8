import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { SDK_MODELS } from '../../src/providers/sdk-models.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { startGateway } from '../support/gateway.ts';
import { hasOpenAiSchema, openAiFaults } from '../support/openai-schema.ts';
import { json, modelList } from '../support/scripts.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { loadSdk } from '../wire/support/load-sdk.ts';

async function startWithModels() {
  return startBothWires({ upstream: await startUpstream({ models: modelList([CLAUDE, 'nobody-knows']) }) });
}

test('models report their known limits, input types and prices', async () => {
  const gateway = await startWithModels();
  const { data } = (await gateway.get('/v1/models')).json() as { data: { id: string }[] };
  expect(data.find(({ id }) => id === `anthropic/${CLAUDE}`)).toMatchObject({
    object: 'model',
    owned_by: 'anthropic',
    max_output_tokens: 64_000,
    pricing: { input: 3, cached_input: 0.3, output: 15 },
  });
  expect((await gateway.get('/v1/models/mock/nobody-knows')).json()).toMatchObject({
    pricing: null,
    context_window: null,
  });
  await gateway.stop();
  await gateway.upstream.close();
});

test("Anthropic's clients get a page in Anthropic's format", async () => {
  const gateway = await startWithModels();
  const headers = { 'anthropic-version': '2023-06-01' };
  const page = (await gateway.get('/v1/models', headers)).json() as { data: { id: string }[] };
  expect(page).toMatchObject({ has_more: false, first_id: page.data[0]?.id, last_id: page.data.at(-1)?.id });
  expect(page.data[0]).toMatchObject({
    type: 'model',
    display_name: expect.any(String),
    created_at: expect.any(String),
  });
  expect((await gateway.get(`/v1/models/${CLAUDE}`, headers)).json()).toMatchObject({ type: 'model' });
  await gateway.stop();
  await gateway.upstream.close();
});

test('the SDKs page through the list and find each model again', async () => {
  const gateway = await startBothWires();
  gateway.upstream.models(modelList(['a', 'b', 'c']));
  const anthropic = await loadSdk<{
    default: new (
      options: object,
    ) => {
      models: {
        list(query: object): AsyncIterable<{ id: string }>;
        retrieve(id: string): Promise<{ id: string }>;
      };
    };
  }>('@anthropic-ai/sdk');
  const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const expected = ['a', 'b', 'c'].flatMap((id) => [id, `mock/${id}`, `anthropic/${id}`]);
  const ids: string[] = [];
  for await (const { id } of openai.models.list()) if (!id.startsWith('sandbox/')) ids.push(id);
  expect(ids.sort()).toEqual(expected.sort());
  for (const id of ['mock/b', 'b']) expect(await openai.models.retrieve(id)).toMatchObject({ id });
  if (!anthropic) return;
  const client = new anthropic.default({ baseURL: gateway.origin, apiKey: gateway.key });
  const paged: string[] = [];
  for await (const { id } of client.models.list({ limit: 2 })) if (!id.startsWith('sandbox/')) paged.push(id);
  expect(paged.sort()).toEqual(expected);
  expect(await client.models.retrieve('anthropic/c')).toMatchObject({ id: 'anthropic/c' });
});

test('aliases are listed with the fields of their first model, before a model of the same name', async () => {
  const gateway = await startBothWires({
    upstream: await startUpstream({ models: modelList([CLAUDE, 'shared']) }),
    settings: {
      aliases: { fast: `nobody-has-it, anthropic/${CLAUDE}`, shared: 'mock/shared', lost: 'nowhere' },
    },
  });
  const { data } = (await gateway.get('/v1/models')).json() as { data: { id: string; owned_by: string }[] };
  const named = (name: string) => data.filter(({ id }) => id === name);
  expect(named('fast')).toMatchObject([{ owned_by: 'anthropic', pricing: { input: 3 }, object: 'model' }]);
  expect(named('shared')).toMatchObject([{ owned_by: 'mock' }]);
  expect(named('lost')).toMatchObject([{ alias_for: 'nowhere', owned_by: 'gw', pricing: null }]);
  expect((await gateway.get('/v1/models/fast')).json()).toMatchObject({ id: 'fast', owned_by: 'anthropic' });
  const headers = { 'anthropic-version': '2023-06-01' };
  expect((await gateway.get('/v1/models/fast', headers)).json()).toMatchObject({
    type: 'model',
    id: 'fast',
    display_name: 'fast',
  });
  await gateway.stop();
  await gateway.upstream.close();
});

test("a provider's name with a slash is listed only where it means that provider", async () => {
  const gateway = await startBothWires({
    upstream: await startUpstream({ models: modelList(['anthropic/x', 'vendor/y']) }),
  });
  const { data } = (await gateway.get('/v1/models')).json() as { data: { id: string; owned_by: string }[] };
  expect(data.find(({ id }) => id === 'vendor/y')).toMatchObject({ owned_by: 'mock' });
  for (const { id, owned_by } of data.filter(({ id }) => id === 'anthropic/x'))
    expect([id, owned_by]).toEqual(['anthropic/x', 'anthropic']);
  await gateway.stop();
  await gateway.upstream.close();
});

test('a fine-tuned model is deleted at its provider', async () => {
  const gateway = await startBothWires({ alone: true, budget: { capUsd: 1, period: 'daily' } });
  const deleted = { id: 'ft:gpt-4o-mini:me::x', object: 'model', deleted: true };
  gateway.upstream.queue(json(200, deleted));
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  expect(await client.models.delete(deleted.id)).toEqual(deleted);
  expect(gateway.upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `DELETE /v1/models/${deleted.id}`,
  ]);
});

test.skipIf(!hasOpenAiSchema)(
  "the list matches OpenAI's schema, except for fields that gw adds",
  async () => {
    const gateway = await startBothWires();
    const list = (await gateway.get('/v1/models')).json();
    const faults = openAiFaults('ListModelsResponse', list);
    expect(
      faults.filter(
        (fault) => !/unknown field (unpriced|context_window|max_output_tokens|pricing)$/.test(fault),
      ),
    ).toEqual([]);
  },
);

test("models that the makers' SDKs name and nobody has a price of are listed as unpriced", async () => {
  const upstream = await startUpstream({ models: modelList(['gpt-4o']) });
  const settings = { providers: { openai: { baseUrl: upstream.url } } };
  const gateway = await startGateway({ upstream, settings, credentials: { openai: 'sk-1' } });
  const { unpriced, data } = (await gateway.get('/v1/models')).json() as {
    unpriced: string[];
    data: object[];
  };
  const catalog = createCatalog();
  const expected = sdkNames('openai').filter((name) => !catalog.find('openai', name));
  expect(unpriced).toEqual(expected.map((name) => `openai/${name}`));
  expect(data).not.toContainEqual(expect.objectContaining({ id: unpriced[0] }));
  const cli = commandLineOf(gateway, 'remotely', createVirtualClock());
  const { stdout, stderr } = await cli.run(['models', 'openai/'], { columns: 200 });
  for (const name of unpriced) expect(stdout).toMatch(new RegExp(`^${name} +unpriced`, 'm'));
  expect(stdout).toMatch(/^openai\/gpt-4o +\$2\.50/m);
  expect(stderr).toContain('gw prices update');
});

/** The names in the types of the installed SDK of a maker. */
function sdkNames(maker: 'openai' | 'anthropic'): string[] {
  const types = { openai: ['ChatModel', 'AllModels'], anthropic: ['Model'] }[maker];
  const file = {
    openai: 'openai/resources/shared',
    anthropic: '@anthropic-ai/sdk/resources/messages/messages',
  };
  const module = createRequire(import.meta.url).resolve(file[maker]);
  const text = readFileSync(module.replace(/js$/, 'd.ts'), 'utf8');
  const names = types.flatMap((type) => {
    const [, union = ''] = new RegExp(`^export type ${type} = (.*);$`, 'm').exec(text) ?? [];
    return [...union.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
  });
  return [...new Set(names)];
}

test.each(['openai', 'anthropic'] as const)(
  'the names of models of %s are those of its newest SDK',
  (maker) => {
    expect(sdkNames(maker).length).toBeGreaterThan(15);
    expect(SDK_MODELS[maker]).toEqual(sdkNames(maker));
  },
);
