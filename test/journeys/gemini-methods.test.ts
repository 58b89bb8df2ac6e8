import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listEnvelope } from '../../src/gateway/answer/json-list.ts';
import { NANO_PER_USD } from '../../src/money.ts';
import { createKey } from '../../src/store/accounts/keys.ts';
import { answer as chatAnswer } from '../support/chat-scripts.ts';
import { request } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import { answerOf, ask, events, GENERATE, HI, MODEL, PLAIN, STREAM, start } from '../support/gemini.ts';
import { json } from '../support/scripts.ts';
import { send } from '../wire/support/send.ts';

describe('a stream without alt=sse is a list', () => {
  const LIST = STREAM.replace('?alt=sse', '');

  test.each([
    ['at Gemini', LIST],
    ['at another provider', '/v1beta/models/mock/test-model:streamGenerateContent?alt=json'],
  ])('%s, metered as ever', async (_, path) => {
    const gateway = await start();
    gateway.configure({
      providers: {
        gemini: { baseUrl: gateway.upstream.url.replace(/v1$/, 'v1beta') },
        mock: { baseUrl: gateway.upstream.url },
      },
    });
    const said = answerOf({}, [{ text: 'Ünï "x"\n\ndata: 1' }]);
    gateway.upstream.script(path === LIST ? events([said, PLAIN]) : chatAnswer('One two three four five'));
    const answer = await ask(gateway, {}, path);
    expect(answer.header('content-type')).toContain('application/json');
    const list = JSON.parse(await answer.text());
    expect(list.length).toBeGreaterThanOrEqual(2);
    if (path === LIST) expect(list).toEqual([said, PLAIN]);
    expect(list.at(-1)).toMatchObject({ usageMetadata: { candidatesTokenCount: 5 } });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outputTokens: 5, outcome: 'ok' });
  });

  test('wherever the bytes of the events are cut', () => {
    const values = [{ text: 'a ☃ b' }, { text: '' }, { error: { code: 500 } }];
    const whole = Buffer.from(
      `: hi\n\n${values.map((value) => `data: ${JSON.stringify(value)}\r\n\r\n`).join('')}`,
    );
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 6 }), (cuts) => {
        const ends = [...cuts, whole.length].sort((a, b) => a - b);
        const envelope = listEnvelope();
        const written = ends.map((end, i) => envelope.events(whole.subarray(ends[i - 1] ?? 0, end)));
        expect(JSON.parse(Buffer.concat([...written, envelope.end()]).toString())).toEqual(values);
      }),
    );
    expect(listEnvelope().end().toString()).toBe('[]');
  });
});

describe('embeddings', () => {
  const EMBEDDER = 'gemini-embedding-001';
  const ONE = `/v1beta/models/gemini/${EMBEDDER}:embedContent`;
  const SEVERAL = ONE.replace('embedContent', 'batchEmbedContents');
  const MICROS_A_TOKEN = 0.15;
  const textOf = (text: string) => ({ parts: [{ text }] });
  const vector = { values: [0.1, 0.2] };

  test('pass to Gemini, each with its model, at what is reported or counted', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.001 } });
    // BerriAI/litellm#33681: the usage was left out.
    const details = [{ modality: 'TEXT', tokenCount: 40 }];
    const reported = {
      embedding: vector,
      usageMetadata: { promptTokenCount: 40, promptTokenDetails: details },
    };
    gateway.upstream.queue(json(200, reported), json(200, { embeddings: [vector, vector] }));
    const asked = { content: textOf('Hi'), taskType: 'RETRIEVAL_QUERY', outputDimensionality: 768 };
    const one = await send(gateway, ONE, { model: `models/gemini/${EMBEDDER}`, ...asked });
    expect(await one.json()).toEqual(reported);
    const texts = ['word '.repeat(100), 'Hi'].map((text) => ({ content: textOf(text) }));
    const named = (model: string) => ({
      requests: texts.map((each) => ({ model: `models/${model}`, ...each })),
    });
    const several = await send(gateway, SEVERAL, named(`gemini/${EMBEDDER}`));
    expect(await several.json()).toEqual({ embeddings: [vector, vector] });
    expect(gateway.upstream.requests.map(({ path, body }) => [path, JSON.parse(String(body))])).toEqual([
      [`/v1beta/models/${EMBEDDER}:embedContent`, asked],
      [`/v1beta/models/${EMBEDDER}:batchEmbedContents`, named(EMBEDDER)],
    ]);
    const [first, second] = await gateway.settled(2);
    const micros = (costNanoUsd = 0) => (costNanoUsd / NANO_PER_USD) * 1e6;
    expect([first?.endpoint, first?.flags, micros(first?.costNanoUsd)]).toEqual([
      'embedContent',
      [],
      expect.closeTo(40 * MICROS_A_TOKEN, 6),
    ]);
    expect(second?.flags).toEqual(['estimated']);
    expect(micros(second?.costNanoUsd)).toBeGreaterThan(100 * MICROS_A_TOKEN);
    expect(micros(second?.costNanoUsd)).toBeLessThan(130 * MICROS_A_TOKEN);
  });

  test('are open to a key that may use their model alone', async () => {
    const gateway = await start();
    gateway.upstream.script(json(200, { embeddings: [vector] }));
    const of = { projectId: gateway.project.id, now: Date.now(), models: [EMBEDDER] };
    const { key } = await createKey(gateway.db, of);
    const ask = (path: string, model: string) =>
      send({ ...gateway, key }, path, { requests: [{ model, content: textOf('Hi') }] });
    expect((await ask(SEVERAL, `models/gemini/${EMBEDDER}`)).status).toBe(200);
    const other = SEVERAL.replace('001', '2');
    expect((await ask(other, 'models/gemini/gemini-embedding-2')).status).toBe(403);
  });

  test('have no more than a budget has left', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.000_15 } });
    gateway.upstream.script(json(200, { embedding: vector }));
    const answers = [textOf('w'.repeat(500)), textOf('w'.repeat(2_000))].map((content) =>
      send(gateway, ONE, { content }),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 402]);
    const film = { parts: [{ fileData: { fileUri: 'https://example.com/a.mp4' } }] };
    expect((await send(gateway, SEVERAL, { requests: [{ content: film }] })).status).toBe(402);
  });

  test.each([
    ['a body', ONE, { model: 'models/gemini-embedding-2', content: textOf('Hi') }],
    [
      'one of a batch',
      SEVERAL,
      { requests: [{ model: 'models/gemini-embedding-2', content: textOf('Hi') }] },
    ],
    ['nothing to embed', ONE, {}],
  ])('are refused for another model in %s', async (_, path, body) => {
    const gateway = await start();
    const answer = await send(gateway, path, body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } });
    expect(gateway.upstream.requests).toEqual([]);
  });
});

describe('countTokens', () => {
  const COUNT = `/v1beta/models/${MODEL}:countTokens`;

  // QuantumNous/new-api#7283: a count was generated and billed. lbjlaq/Antigravity-Manager#3294: it was refused, or 0.
  test('passes to Gemini as it is, for nothing, with the model renamed within it', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.000_001 } });
    gateway.upstream.script(json(200, { totalTokens: 7, promptTokensDetails: [] }));
    const inner = { model: 'models/gemini/x', contents: HI };
    const bodies = [{ contents: HI }, { generateContentRequest: inner }];
    for (const body of bodies) {
      const answer = await send(gateway, COUNT.replace('models/', 'models/gemini/'), body);
      expect(await answer.json()).toEqual({ totalTokens: 7, promptTokensDetails: [] });
    }
    expect(gateway.upstream.requests.map(({ path, body }) => [path, JSON.parse(String(body))])).toEqual([
      [COUNT, bodies[0]],
      [COUNT, { generateContentRequest: { ...inner, model: `models/${MODEL}` } }],
    ]);
    for (const { costNanoUsd, endpoint, flags } of await gateway.settled(2))
      expect([costNanoUsd, endpoint, flags]).toEqual([0, 'gemini/countTokens', []]);
  });

  test.each([
    ['the contents', (contents: object) => ({ contents })],
    ['a request', (contents: object) => ({ generateContentRequest: { model: 'models/m', contents } })],
  ])('is answered by gw for models of other providers (BerriAI/litellm#41286): %s', async (_, body) => {
    const gateway = await start();
    gateway.configure({ providers: { mock: { baseUrl: gateway.upstream.url } } });
    const count = async (text: string) => {
      const contents = [{ role: 'user', parts: [{ text }] }];
      const answer = await send(gateway, '/v1beta/models/mock/test-model:countTokens', body(contents));
      const escaped = await send(gateway, '/v1beta/models/mock%2Ftest-model:countTokens', body(contents));
      expect(escaped.body.toString()).toBe(answer.body.toString());
      expect(answer.header('x-service-route')).toBe('counted');
      return ((await answer.json()) as { totalTokens: number }).totalTokens;
    };
    const [few, many] = [await count('Hi'), await count('word '.repeat(1_000))];
    expect(few).toBeLessThan(20);
    expect(many - few).toBeGreaterThan(950);
    expect(many - few).toBeLessThan(1_050);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('is asked for a request that the bytes leave no room for', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.0125 } });
    const parts = [
      { text: 'word '.repeat(8_000) },
      { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
    ];
    const asked = {
      systemInstruction: { parts: [{ text: 'Be brief' }] },
      contents: [{ role: 'user', parts }],
      generationConfig: { maxOutputTokens: 300 },
      safetySettings: [],
    };
    gateway.upstream.script(async (exchange) => {
      const isCount = exchange.request.path.endsWith(':countTokens');
      const { safetySettings: _, ...counted } = asked;
      if (isCount)
        expect(JSON.parse(String(await exchange.body))).toEqual({
          generateContentRequest: { model: `models/${MODEL}`, ...counted },
        });
      await json(200, isCount ? { totalTokens: 10_000 } : PLAIN)(exchange);
    });
    expect((await ask(gateway, asked)).status).toBe(200);
    expect((await ask(gateway, asked)).status).toBe(200);
    const paths = gateway.upstream.requests.map(({ path }) => path.split(':').at(-1));
    expect(paths).toEqual(['countTokens', 'generateContent', 'generateContent']);
    const needs = (await gateway.settled(2)).map(({ detail }) => detail.need);
    expect(needs).toMatchObject(needs.map(() => ({ input_bound: 'provider_count', input_tokens: 11_000 })));
  });

  test('is not asked for what it may not know: a cache, and thoughts that gw cannot tell apart', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 0.008 } });
    const parts = [{ text: 'word '.repeat(8_000) }];
    const asAdmin = { ...gateway, key: gateway.adminKey };
    await ask(asAdmin, { cachedContent: 'cachedContents/abc', contents: [{ role: 'user', parts }] });
    const odd = [{ hologram: 1, thoughtSignature: 'c2ln' }];
    await ask(gateway, { contents: [{ role: 'user', parts }, { role: 'model', parts: odd }, ...HI] });
    expect(gateway.upstream.requests).toEqual([]);
  });
});

describe('what Google stores', () => {
  const CACHE = { model: `models/${MODEL}`, contents: HI, ttl: '3600s' };
  const calls: [string, string, object?][] = [
    ['POST', `/v1beta/models/${MODEL}:batchGenerateContent`, { batch: { displayName: 'b' } }],
    ['POST', '/v1beta/cachedContents', CACHE],
    ['PATCH', '/v1beta/cachedContents/abc', { ttl: '60s' }],
    ['GET', '/v1beta/cachedContents/abc'],
    ['DELETE', '/v1beta/files/abc'],
    ['GET', '/v1beta/batches'],
    ['POST', '/v1beta/batches/b1:cancel', {}],
  ];
  const call = (gateway: TestGateway, [method, path, body]: (typeof calls)[number], key = gateway.adminKey) =>
    request(`${gateway.origin}${path}`, {
      method,
      ...(body && { body }),
      headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
    });

  // BerriAI/litellm#13732: a batch cost nothing.
  test('passes without a budget; what costs by the hour or later is unknown', async () => {
    const gateway = await start();
    gateway.upstream.script(json(200, { name: 'x/abc' }));
    for (const each of calls) expect((await call(gateway, each)).status).toBe(200);
    expect(gateway.upstream.requests.map(({ method, path }) => [method, path])).toEqual(
      calls.map(([method, path]) => [method, path]),
    );
    const flags = (await gateway.settled(calls.length)).map((record) => record.flags.includes('unmetered'));
    expect(flags).toEqual([true, true, true, false, false, false, false]);
  });

  test('under a budget it may be read and removed, and not made', async () => {
    const gateway = await start({ budget: { period: 'daily', capUsd: 1 } });
    gateway.upstream.script(json(200, {}));
    const answers: number[] = [];
    for (const each of calls) answers.push((await call(gateway, each)).status);
    expect(answers).toEqual([402, 402, 402, 200, 200, 200, 200]);
  });

  test('belongs to no project of several: an admin key alone reaches it, and caches of others', async () => {
    const gateway = await start();
    gateway.upstream.script(json(200, {}));
    const { key } = gateway;
    for (const each of calls) {
      const answer = await call(gateway, each, key);
      expect(answer.status).toBe(403);
      expect(await answer.text()).toContain('Use an admin key');
    }
    const file = { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } };
    const uses = [{ cachedContent: 'cachedContents/abc' }, { contents: [{ role: 'user', parts: [file] }] }];
    for (const fields of uses) {
      const answer = await call(gateway, ['POST', GENERATE, { contents: HI, ...fields }], key);
      expect(answer.status).toBe(404);
    }
    expect(gateway.upstream.requests).toEqual([]);
    const count = await call(gateway, ['POST', `/v1beta/models/${MODEL}:countTokens`, { contents: HI }], key);
    expect(count.status).toBe(200);
  });
});

test('what tools returned is shortened, and the rest keeps its bytes', async () => {
  const items = Array.from({ length: 200 }, (_, id) => ({ id, name: `item ${id}`, state: 'active' }));
  const called = { functionCall: { name: 'list', args: { all: true } }, thoughtSignature: 'c2ln' };
  const result = { functionResponse: { name: 'list', response: { result: JSON.stringify(items) } } };
  const contents = [
    ...HI,
    { role: 'model', parts: [called] },
    { role: 'user', parts: [result] },
    { role: 'user', parts: [{ text: 'How many are there?' }] },
  ];
  const gateway = await start();
  expect((await ask(gateway, { contents })).status).toBe(200);
  const sent = JSON.parse(gateway.upstream.requests.at(-1)?.body.toString() ?? '');
  const [record] = await gateway.settled(1);
  expect(record?.savedTokens).toBeGreaterThan(500);
  expect(sent.contents[2].parts[0].functionResponse).toMatchObject({ name: 'list' });
  expect(JSON.stringify(sent.contents[2]).length).toBeLessThan(JSON.stringify(contents[2]).length * 0.7);
  expect([sent.contents[0], sent.contents[1], sent.contents[3]]).toEqual([
    contents[0],
    contents[1],
    contents[3],
  ]);
});
