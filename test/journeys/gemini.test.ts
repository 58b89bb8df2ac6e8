import { describe, expect, test } from 'vitest';
import { NANO_PER_USD } from '../../src/money.ts';
import { request } from '../support/client.ts';
import { answerOf, ask, events, GENERATE, HI, MODEL, PLAIN, STREAM, start } from '../support/gemini.ts';
import { json } from '../support/scripts.ts';
import { sentBody, sentHeader } from '../wire/support/send.ts';

/** A million tokens in, thoughts and answer out, by the price page: https://ai.google.dev/gemini-api/docs/pricing */
const USD = { input: 0.3, audio: 1, cached: 0.03, output: 2.5 };

describe('a client of Gemini at Gemini', () => {
  test("gets the provider's bytes, and the provider the client's, with gw's key for its own", async () => {
    const gateway = await start();
    const body =
      '{ "contents" : [{"role":"user","parts":[{"text":"H\\u00ef"}]}],\n "safetySettings":[] ,"x":1.0}';
    const answer = await request(`${gateway.origin}${GENERATE}`, {
      body,
      headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
    });
    expect(await answer.json()).toEqual(PLAIN);
    expect(['x-service-api', 'x-service-provider'].map((name) => answer.header(name))).toEqual([
      'gemini',
      'gemini',
    ]);
    const [sent] = gateway.upstream.requests;
    expect({
      path: sent?.path,
      body: String(sent?.body),
      key: sentHeader(gateway, 'x-goog-api-key'),
    }).toEqual({
      path: GENERATE,
      body,
      key: 'AIza-provider',
    });
  });

  test.each([
    ['last', `${STREAM}&key=`],
    ['first', STREAM.replace('?alt=sse', '?key=')],
    ['at v1', STREAM.replace('v1beta', 'v1').replace('?alt=sse', '?x=1&key=')],
  ])('may write its key into the address, which no record and no provider sees: %s', async (_, address) => {
    const gateway = await start();
    const answer = await request(`${gateway.origin}${address}${gateway.key}&alt=sse`, {
      body: { contents: HI },
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(200);
    expect(gateway.upstream.requests[0]?.path).toBe(STREAM);
    const records = await gateway.settled(1);
    expect(JSON.stringify([records, gateway.logged])).not.toContain(gateway.key);
  });

  test('may write fields in the other spelling, within a budget too', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.001 } });
    const answer = await ask(gateway, {
      system_instruction: { parts: [{ text: 'Be brief' }] },
      generation_config: { max_output_tokens: 60_000, temperature: 0 },
    });
    expect(answer.status).toBe(200);
    const { generationConfig } = sentBody(gateway) as { generationConfig: { maxOutputTokens: number } };
    expect(generationConfig.maxOutputTokens).toBeLessThan(500);
    expect(Object.keys(sentBody(gateway)).sort()).toEqual([
      'contents',
      'generationConfig',
      'systemInstruction',
    ]);
  });

  test.each([
    ['both spellings', '{"generationConfig":{},"generation_config":{"max_output_tokens":9}'],
    ['a limit twice', '{"generationConfig":{"maxOutputTokens":9,"max_output_tokens":99999}'],
    ['a model of its own', '{"model":"models/gemini-3-pro"'],
    ['no number', '{"generationConfig":{"maxOutputTokens":{"a":1}}'],
  ])('is refused %s: a server may read the other', async (_, start_) => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 1 } });
    const answer = await request(`${gateway.origin}${GENERATE}`, {
      body: `${start_},"contents":${JSON.stringify(HI)}}`,
      headers: { 'x-goog-api-key': gateway.key, 'content-type': 'application/json' },
    });
    expect({ status: answer.status, sent: gateway.upstream.requests.length }).toEqual({
      status: 400,
      sent: 0,
    });
    expect(await answer.json()).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } });
  });

  test('has its limit lowered to what the budget has left, thinking within it, for each candidate', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.01 } });
    await ask(gateway, { generationConfig: { candidateCount: 4 } });
    const { generationConfig } = sentBody(gateway) as { generationConfig: { maxOutputTokens: number } };
    const worst = (generationConfig.maxOutputTokens * 4 * USD.output) / 1e6;
    expect(worst).toBeGreaterThan(0.009);
    expect(worst).toBeLessThan(0.01);
  });

  test('is told in the shape of its API that the budget is spent', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.000_001 } });
    const answer = await ask(gateway, {});
    expect(answer.status).toBe(402);
    const { error } = (await answer.json()) as { error: { details: { metadata: { need: string } }[] } };
    expect(error).toMatchObject({
      code: 402,
      status: 'FAILED_PRECONDITION',
      details: [{ reason: 'budget_exceeded', domain: 'gw' }],
    });
    expect(JSON.parse(error.details[0]?.metadata.need ?? '')).toMatchObject({ input_bound: 'bytes' });
    const unknown = await request(`${gateway.origin}${GENERATE}`, {
      body: {},
      headers: { 'x-goog-api-key': 'no' },
    });
    expect(await unknown.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } });
  });
});

const tokens = (promptTokenCount: number, rest: object = {}) => ({ promptTokenCount, ...rest });

describe('what Google reports is booked', () => {
  test.each([
    [
      'thoughts beside candidates',
      tokens(1_000, { candidatesTokenCount: 100, thoughtsTokenCount: 400, totalTokenCount: 1_500 }),
      1_000 * USD.input + 500 * USD.output,
    ],
    [
      'cached input within the prompt',
      tokens(1_000, { cachedContentTokenCount: 800, candidatesTokenCount: 10, totalTokenCount: 1_010 }),
      200 * USD.input + 800 * USD.cached + 10 * USD.output,
    ],
    [
      'input that tools add',
      tokens(1_000, { toolUsePromptTokenCount: 500, candidatesTokenCount: 10, totalTokenCount: 1_510 }),
      1_500 * USD.input + 10 * USD.output,
    ],
    [
      'sound at its own price',
      tokens(1_000, {
        candidatesTokenCount: 10,
        totalTokenCount: 1_010,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 100 },
          { modality: 'AUDIO', tokenCount: 900 },
        ],
      }),
      100 * USD.input + 900 * USD.audio + 10 * USD.output,
    ],
    [
      'output that only the total has',
      tokens(1_000, { totalTokenCount: 1_200 }),
      1_000 * USD.input + 200 * USD.output,
    ],
  ])('%s', async (_, usage, micros) => {
    const gateway = await start();
    gateway.upstream.queue(
      json(200, answerOf(usage)),
      events([
        {
          ...answerOf({}),
          candidates: [],
          usageMetadata: { ...usage, candidatesTokenCount: 0, thoughtsTokenCount: 0 },
        },
        answerOf(usage),
      ]),
    );
    await ask(gateway, {});
    await ask(gateway, {}, STREAM);
    const records = await gateway.settled(2);
    for (const { costNanoUsd, flags } of records)
      expect({
        usd: (costNanoUsd / NANO_PER_USD) * 1e6,
        flags: flags.filter((flag) => flag !== 'stream'),
      }).toEqual({
        usd: expect.closeTo(micros, 3),
        flags: [],
      });
  });

  test('a stream without a finish reason is cut short, and an answer of a blocked prompt is whole', async () => {
    const gateway = await start();
    const cut = {
      ...PLAIN,
      candidates: [{ content: { parts: [{ text: 'Hel' }], role: 'model' }, index: 0 }],
    };
    const blocked = {
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: tokens(10, { totalTokenCount: 10 }),
      modelVersion: MODEL,
    };
    gateway.upstream.queue(events([cut]), events([blocked]));
    const chat = (stream: boolean) =>
      gateway.post({ model: `gemini/${MODEL}`, stream, messages: [{ role: 'user', content: 'Hi' }] });
    expect(await (await chat(true)).text()).not.toContain('[DONE]');
    expect(await (await chat(true)).text()).toMatch(/"finish_reason":"content_filter".*\[DONE\]/s);
  });
});

describe('what may cost more than tokens', () => {
  test.each([
    ['a search', { tools: [{ googleSearch: {} }] }, 'googleSearch'],
    ['a search in the other spelling', { tools: [{ google_search: {} }] }, 'google_search'],
    ['a search beside functions', { tools: [{ functionDeclarations: [], urlContext: {} }] }, 'urlContext'],
    ['code', { tools: [{ codeExecution: {} }] }, 'codeExecution'],
    ['a dearer tier', { serviceTier: 'priority' }, 'serviceTier'],
  ])('is refused under a budget: %s', async (_, fields, name) => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 1 } });
    const answer = await ask(gateway, fields);
    expect({ status: answer.status, sent: gateway.upstream.requests.length }).toEqual({
      status: 402,
      sent: 0,
    });
    expect(await answer.text()).toContain(name);
  });

  test.each([
    ['a document', { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } }],
    ['sound', { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } }],
    ['a file by address', { fileData: { fileUri: 'https://example.com/a.pdf' } }],
    ['a content of an unknown kind', { hologram: { uri: 'a' } }],
  ])('may fill the context: %s', async (_, part) => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.2 } });
    const answer = await ask(gateway, { contents: [{ role: 'user', parts: [{ text: 'Read' }, part] }] });
    expect(answer.status).toBe(402);
    const text = await ask(gateway, {
      contents: [
        { role: 'user', parts: [{ text: 'Read' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      ],
    });
    expect(text.status).toBe(200);
  });

  test('cached contents belong to the provider, and may have any number of tokens', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.2 } });
    const asAdmin = { ...gateway, key: gateway.adminKey };
    expect((await ask(asAdmin, { cachedContent: 'cachedContents/abc' })).status).toBe(402);
  });
});

test("a client of Gemini gets another provider's errors in its own words", async () => {
  const gateway = await start();
  gateway.configure({ providers: { mock: { baseUrl: gateway.upstream.url } } });
  gateway.upstream.queue(
    json(429, { error: { message: 'slow down', type: 'rate_limit', code: null, param: null } }),
  );
  const answer = await ask(gateway, {}, '/v1beta/models/mock/test-model:generateContent');
  expect(answer.status).toBe(429);
  expect(await answer.json()).toEqual({
    error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' },
  });
});

test('what gw has no method for is said in the shape of the API', async () => {
  const gateway = await start();
  const answers = [
    await ask(gateway, {}, `/v1beta/models/${MODEL}:predict`),
    await ask(gateway, {}, '/v1beta/interactions'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404]);
  for (const answer of answers) expect(await answer.json()).toMatchObject({ error: { code: answer.status } });
});

test.each([
  ['whole', GENERATE],
  ['streamed', STREAM],
])('a prompt that Gemini has counted bounds the next one of the conversation: %s', async (_, path) => {
  const gateway = await start({ budget: { period: 'daily', capUsd: 1 } });
  const systemInstruction = { parts: [{ text: 'A rule. '.repeat(1_000) }] };
  const counted = answerOf({ promptTokenCount: 2_010, candidatesTokenCount: 5, totalTokenCount: 2_015 });
  gateway.upstream.script(path === STREAM ? events([counted]) : json(200, counted));
  await ask(gateway, { systemInstruction }, path);
  const contents = [
    ...HI,
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'ok' } } }] },
  ];
  await ask(gateway, { systemInstruction, contents }, path);
  const needs = (await gateway.settled(2)).map(({ detail }) => detail.need);
  expect(needs).toMatchObject([{ input_bound: 'bytes' }, { input_bound: 'edit' }]);
});
