import { describe, expect, test } from 'vitest';
import { createKey } from '../../src/store/accounts/keys.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';

/** Ways past the limits of other gateways, as their users have reported them. */
const CHAT = { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
const FREE = { inputPicoUsd: 0, outputPicoUsd: 0 };
const DEAR = { inputPicoUsd: 1e9, outputPicoUsd: 1e9 };

/** A gateway with a free and a dear model at a provider, and a cap of nothing. */
async function penniless(): Promise<TestGateway> {
  const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 0 } });
  gateway.configure({
    providers: { mock: { baseUrl: gateway.upstream.url }, other: { baseUrl: gateway.upstream.url } },
    aliases: { cheapest: 'mock/free | other/dear' },
  });
  await gateway.setPrice({ provider: 'mock', model: 'free', ...FREE });
  await gateway.setPrice({ provider: 'other', model: 'dear', ...DEAR });
  return gateway;
}

describe('a free model and a cap of nothing', () => {
  test('do not reach the dear one that takes over (BerriAI/litellm#41344, #41379)', async () => {
    const gateway = await penniless();
    gateway.upstream.script(json(503, { error: { message: 'down' } }));
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push((await gateway.post({ model: 'cheapest', ...CHAT })).status);
    expect(answers.every((status) => status === 402 || status === 503)).toBe(true);
    expect(gateway.upstream.requests.map(({ body }) => JSON.parse(String(body)).model)).not.toContain('dear');
  });

  test.each([
    ['maximhq/bifrost#2873', 'POST', '/v1/genai/models/dear:generateContent', { contents: [] }],
    ['BerriAI/litellm#41295', 'POST', '/v1/openai/deployments/dear/chat/completions', CHAT],
    ['BerriAI/litellm#26399', 'POST', '/v1/model/dear/invoke', CHAT],
    ['BerriAI/litellm#41295', 'POST', '/v1/endpoints/dear:predict', { instances: [] }],
  ])('reach no endpoint that gw does not know (%s)', async (_, method, path, body) => {
    const gateway = await penniless();
    const answer = await gateway.post({ model: 'mock/free', ...body }, { path, method });
    expect([answer.status >= 400, gateway.upstream.requests]).toEqual([true, []]);
  });
});

describe('a key that may use one model', () => {
  async function withKey() {
    const gateway = await startGateway({ alone: true });
    const { db, project } = gateway;
    const { key } = await createKey(db, { projectId: project.id, models: ['test-model'], now: Date.now() });
    const ask = (body: object, path = '/v1/chat/completions', headers: Record<string, string> = {}) =>
      gateway.post(body, { path, headers: { authorization: `Bearer ${key}`, ...headers } });
    return { gateway, ask };
  }
  const ALLOWED = { model: 'mock/test-model', ...CHAT };

  test.each([
    ['BerriAI/litellm#41810, #41852: a query', ALLOWED, '/v1/chat/completions?model=dear'],
    ['BerriAI/litellm#41810: a query of embeddings', { ...ALLOWED, input: 'a' }, '/v1/embeddings?model=dear'],
  ])('has no other one by %s', async (_, body, path) => {
    const { gateway, ask } = await withKey();
    await ask(body, path);
    expect(gateway.upstream.requests.map(({ path: sent }) => sent)).not.toContain(
      expect.stringContaining('dear'),
    );
  });

  test.each<[string, object]>([
    ['BerriAI/litellm#8616', { ...ALLOWED, model: 'mock/dear' }],
    ['BerriAI/litellm#29538: another host', { ...ALLOWED, api_base: 'https://x.example' }],
    [
      'BerriAI/litellm#29538: in a tool',
      { ...ALLOWED, tools: [{ type: 'a', api_base: 'https://x.example' }] },
    ],
    ['BerriAI/litellm#29538: a list', { ...ALLOWED, model_list: [{ model_name: 'a' }] }],
    ['BerriAI/litellm#29538: a template', { ...ALLOWED, litellm_params_template: {} }],
  ])('has no other one by its body (%s)', async (_, body) => {
    const { gateway, ask } = await withKey();
    expect([(await ask(body)).status, gateway.upstream.requests]).toEqual([403, []]);
  });

  test('names no other customer (BerriAI/litellm#32779)', async () => {
    const { gateway, ask } = await withKey();
    await ask(ALLOWED, undefined, { 'x-litellm-customer-id': 'acme', 'x-litellm-end-user-id': 'acme' });
    const [sent] = gateway.upstream.requests;
    expect(JSON.stringify(sent?.head)).not.toContain('litellm');
  });
});
