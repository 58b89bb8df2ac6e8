import { describe, expect, test } from 'vitest';
import { PLAIN, startGateway, type TestGateway } from '../../support/gateway.ts';
import type { TestSettings } from '../../support/home.ts';
import { json } from '../../support/scripts.ts';

/** Slightly above the listed price, as a comparison in floating point requires. */
const LISTED = { prompt: 1.000000001, completion: 2.000000002, request: 0 };
const BODY = { ...PLAIN, model: 'openrouter/test-model', max_tokens: 50 };

/** OpenRouter as the scripted upstream, with a model at $1 and $2. */
async function market(options: { settings?: TestSettings; capUsd?: number } = {}): Promise<TestGateway> {
  const { settings = {}, capUsd = 10 } = options;
  const gateway = await startGateway(capUsd > 0 ? { budget: { period: 'daily', capUsd } } : {});
  const { url } = gateway.upstream;
  gateway.configure({ ...settings, providers: { openrouter: { baseUrl: url }, other: { baseUrl: url } } });
  for (const provider of ['openrouter', 'other']) {
    await gateway.setPrice({
      provider,
      model: 'test-model',
      inputPicoUsd: 1_000_000,
      outputPicoUsd: 2_000_000,
    });
  }
  return gateway;
}

async function sent(gateway: TestGateway, body: object | string, path = '/v1/chat/completions') {
  await gateway.post(body, { path });
  return JSON.parse(gateway.upstream.requests.at(-1)?.body.toString() ?? '');
}

describe('the price ceiling for hosts at OpenRouter', () => {
  test.each<[string, object, object]>([
    ['the listed price', {}, LISTED],
    ['if the field is null', { provider: null }, LISTED],
    ['if the field is not an object', { provider: ['a'] }, LISTED],
    ['if the field is empty', { provider: {} }, LISTED],
    ['if a limit is null', { provider: { max_price: { prompt: null, completion: '' } } }, LISTED],
    ['if a limit is not an object', { provider: { max_price: [0] } }, LISTED],
    [
      'where a limit is higher',
      { provider: { max_price: { prompt: 3, completion: '9e9', request: -1 } } },
      LISTED,
    ],
    [
      'but a lower limit of the request stays',
      { provider: { max_price: { prompt: 0.5, completion: '1.5', audio: 7 } } },
      { ...LISTED, prompt: 0.5, completion: '1.5', audio: 7 },
    ],
  ])('is written into the request: %s', async (_what, more, expected) => {
    expect((await sent(await market(), { ...BODY, ...more })).provider.max_price).toEqual(expected);
  });

  test('includes the amount held for an image', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://a.example/b' } };
    const body = { ...BODY, messages: [{ role: 'user', content: [image] }] };
    const { provider } = await sent(await market(), body);
    expect(provider.max_price).toEqual({ ...LISTED, image: 0.0163840000164 });
  });

  test('leaves the rest of the body unchanged', async () => {
    const gateway = await market();
    const body =
      '{ "max_tokens" : 5, "provider" : {"order":["a"], "zdr":true},"model":"openrouter/test-model","messages":[{"role":"user","content":"Hi"}] }';
    await gateway.post(body);
    const text = gateway.upstream.requests[0]?.body.toString() ?? '';
    const ceiling = JSON.stringify(LISTED);
    expect(text).toContain(
      `{ "max_tokens" : 5, "provider" : {"max_price":${ceiling},"order":["a"], "zdr":true},"model":"test-model"`,
    );
  });

  test.each([
    ['are spelled with escapes', '"pr\\u006fvider":{"max\\u005fprice":{"pr\\u006fmpt":9}}'],
    ['contain an invalid string', '"provider":{"max_price":{"prompt":"\\x"}}'],
  ])('holds where fields %s', async (_what, fields) => {
    const gateway = await market();
    const answer = await gateway.post(
      `{"model":"openrouter/test-model","messages":[{"role":"user","content":"Hi"}],${fields}}`,
    );
    expect(answer.status).toBe(200);
    const text = gateway.upstream.requests[0]?.body.toString() ?? '';
    expect(text).not.toMatch(/:\s*"?[89]/);
    expect(JSON.parse(text).provider.max_price).toEqual(LISTED);
  });

  test.each([
    ['provider', '"provider":{"max_price":{"prompt":9}},"provider":{}'],
    ['provider.max_price.prompt', '"provider":{"max_price":{"prompt":9,"prompt":8}}'],
  ])('is put into no request in which fields stand twice: %s', async (param, fields) => {
    const gateway = await market();
    const answer = await gateway.post(
      `{"model":"openrouter/test-model","messages":[{"role":"user","content":"Hi"}],${fields}}`,
    );
    expect(answer.json()).toMatchObject({ error: { code: 'duplicate_parameter', param } });
    expect(gateway.upstream.requests).toEqual([]);
  });

  test.each([
    ['/v1/responses', { input: 'Hi', max_output_tokens: 50 }],
    ['/v1/completions', { prompt: 'Hi', max_tokens: 50 }],
    ['/v1/embeddings', { input: 'Hi' }],
    ['/v1/messages', { messages: PLAIN.messages, max_tokens: 50 }],
  ])('is written at %s too', async (path, body) => {
    const { provider } = await sent(await market(), { model: BODY.model, ...body }, path);
    expect(provider.max_price).toEqual(LISTED);
  });

  test('is not set if any price is allowed, without a budget, or at other providers', async () => {
    const any = await market({ settings: { 'admission.host_price': 'any' } });
    expect(await sent(any, BODY)).not.toHaveProperty('provider');
    expect(await sent(await market({ capUsd: 0 }), BODY)).not.toHaveProperty('provider');
    expect(await sent(await market(), { ...BODY, model: 'other/test-model' })).not.toHaveProperty('provider');
  });
});

describe('if OpenRouter has no host at the listed price', () => {
  const NONE = json(404, { error: { message: 'No endpoints found that match', code: 404 } });

  test('the error says that gw set the ceiling, and what to do', async () => {
    const gateway = await market();
    gateway.upstream.queue(NONE);
    const answer = await gateway.post(BODY);
    expect(answer.status).toBe(404);
    expect(answer.json()).toMatchObject({
      error: {
        code: 'no_host_at_price',
        message: expect.stringMatching(
          /No endpoints found that match.*\$1 in and \$2 out.*gw prices set openrouter\/test-model/,
        ),
      },
    });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ status: 404, costNanoUsd: 0, detail: { error: 'no_host_at_price' } });
  });

  test.each<[string, object, TestSettings | undefined]>([
    [
      'it is about the model',
      { error: { message: 'test-model is not a valid model ID', code: 404 } },
      undefined,
    ],
    ['gw asked for nothing', { error: { message: 'No endpoints found' } }, { 'admission.host_price': 'any' }],
  ])('any other error passes as it came: %s', async (_what, body, settings) => {
    const gateway = await market(settings ? { settings } : {});
    gateway.upstream.queue(json(404, body));
    expect((await gateway.post(BODY)).json()).toEqual(body);
  });
});
