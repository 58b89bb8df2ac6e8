import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RecordedRequest } from '../../support/exchange.ts';
import type { GatewayOptions } from '../../support/gateway.ts';
import { events as eventsOf, HI, PLAIN } from '../../support/gemini.ts';
import { json, type Script } from '../../support/scripts.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { startUpstream } from '../../support/upstream.ts';
import { events } from '../../wire/support/event-scripts.ts';
import { messageBody, messageStream, messageUsage, text } from '../../wire/support/messages-shapes.ts';
import { send } from '../../wire/support/send.ts';
import { ask, headerIn, QUESTION, setEnv, startClouds } from './support/clouds.ts';

const MODEL = 'claude-sonnet-4-5@20250929';
const hello = messageBody([text('Hello')], { usage: messageUsage(1000, 100) });

/** Application Default Credentials whose tokens come from a scripted service; each token is another one. */
async function defaultCredentials(lifetimeS = 3600) {
  const folder = tmpHome();
  let count = 0;
  const service = await startUpstream({
    script: async (exchange) => {
      await exchange.body;
      count++;
      await json(200, {
        access_token: `google-token-${count}`,
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: lifetimeS,
      })(exchange);
    },
  });
  writeFileSync(join(folder, 'subject'), 'subject-token');
  writeFileSync(
    join(folder, 'adc.json'),
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://127.0.0.1:${service.port}/token`,
      credential_source: { file: join(folder, 'subject') },
    }),
  );
  setEnv({ GOOGLE_APPLICATION_CREDENTIALS: join(folder, 'adc.json') });
  return { service, tokens: () => count };
}

/** Answers only requests with the token of the moment, else as Google does. */
function withToken(token: () => string, script: Script): Script {
  return async (exchange) => {
    await exchange.body;
    const isGood = headerIn(exchange.request, 'authorization') === `Bearer ${token()}`;
    const refusal = { code: 401, message: 'Request had invalid credentials', status: 'UNAUTHENTICATED' };
    await (isGood ? script : json(401, [{ error: refusal }]))(exchange);
  };
}

test('Claude is addressed by the path, plain and streamed, and costs a tenth more outside global', async () => {
  const { service } = await defaultCredentials();
  const gateway = await startClouds({
    vertex: { project: 'my-project' },
    'vertex-eu': { kind: 'vertex', project: 'my-project', region: 'europe-west1' },
  });
  gateway.upstream.queue(json(200, hello), events(messageStream([text('Hello')])), json(200, hello));
  const beta = { headers: { 'anthropic-beta': 'context-1m-2025-08-07' } };
  expect((await ask(gateway, `vertex/${MODEL}`, {}, beta)).status).toBe(200);
  expect((await ask(gateway, `vertex/${MODEL}`, { stream: true })).text()).toContain('message_stop');
  expect((await ask(gateway, `vertex-eu/${MODEL}`)).status).toBe(200);
  const [plain, streamed, regional] = gateway.upstream.requests;
  const models = '/v1/projects/my-project/locations/global/publishers/anthropic/models';
  expect(plain?.path).toBe(`${models}/${MODEL}:rawPredict`);
  expect(streamed?.path).toBe(`${models}/${MODEL}:streamRawPredict`);
  expect(regional?.path).toContain('/locations/europe-west1/');
  expect(plain && headerIn(plain, 'authorization')).toBe('Bearer google-token-1');
  expect(plain && headerIn(plain, 'anthropic-beta')).toBe('context-1m-2025-08-07');
  const body = JSON.parse(plain?.body.toString() ?? '');
  expect(body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', max_tokens: 100 });
  expect(body).not.toHaveProperty('model');
  const [first, , third] = await gateway.records();
  expect(first).toMatchObject({ provider: 'vertex', model: MODEL, costNanoUsd: 4_500_000 });
  expect(third?.costNanoUsd).toBe(4_950_000);
  await service.close();
});

test('models of other makers are reached by chat completions', async () => {
  const { service } = await defaultCredentials();
  const gateway = await startClouds({ vertex: { project: 'my-project', region: 'us' } });
  const refusal = { code: 429, message: 'Resource exhausted', status: 'RESOURCE_EXHAUSTED' };
  gateway.upstream.script(json(429, [{ error: refusal }]));
  const response = await gateway.post({
    model: 'vertex/meta/llama-4-maverick-17b-128e-instruct-maas',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  expect(response.status).toBe(429);
  expect(JSON.parse(response.text())).toMatchObject({
    error: { message: 'Resource exhausted', type: 'rate_limit_error' },
  });
  expect(gateway.upstream.requests[0]?.path).toBe(
    '/v1/projects/my-project/locations/us/endpoints/openapi/chat/completions',
  );
  await service.close();
});

describe('Gemini', () => {
  const CALL = { functionCall: { id: 'c1', name: 'read', args: { id: 1 } } };
  const RESULT = { functionResponse: { id: 'c1', name: 'read', response: { output: 'x' } } };
  const contents = [
    { role: 'user', parts: [{ text: '"id": "kept"' }] },
    { role: 'model', parts: [{ text: 'ok' }, { ...CALL, thoughtSignature: 'c2ln' }] },
    { role: 'user', parts: [RESULT] },
  ];
  const start = (options: GatewayOptions = {}) =>
    startClouds({ vertex: { project: 'ours', keyEnv: 'TOKEN' } }, { env: { TOKEN: 'token' }, ...options });
  const bodyOf = ({ body }: RecordedRequest) => JSON.parse(body.toString());
  const ours = '/v1/projects/ours/locations/global/publishers/google/models/gemini-2.5-flash';

  test.each(['gemini-2.5-flash', 'google/gemini-2.5-flash'])(
    '%s is reached by its own API, calls without ids',
    async (name) => {
      const gateway = await start();
      gateway.upstream.queue(json(200, PLAIN), eventsOf([PLAIN]));
      const path = `/v1beta/models/vertex/${name}`;
      const plain = await send(gateway, `${path}:generateContent`, { contents });
      expect(JSON.parse(plain.text())).toEqual(PLAIN);
      const streamed = await send(gateway, `${path}:streamGenerateContent?alt=sse`, { contents: HI });
      expect(streamed.text()).toContain('"Hello"');
      const [first, second] = gateway.upstream.requests as [RecordedRequest, RecordedRequest];
      expect([first.path, second.path]).toEqual([
        `${ours}:generateContent`,
        `${ours}:streamGenerateContent?alt=sse`,
      ]);
      expect(headerIn(first, 'authorization')).toBe('Bearer token');
      const call = { functionCall: { name: 'read', args: { id: 1 } }, thoughtSignature: 'c2ln' };
      expect(bodyOf(first).contents).toEqual([
        contents[0],
        { role: 'model', parts: [{ text: 'ok' }, call] },
        { role: 'user', parts: [{ functionResponse: { name: 'read', response: { output: 'x' } } }] },
      ]);
      const cost = 10 * 300 + 5 * 2500;
      expect((await gateway.settled(2)).map(({ costNanoUsd }) => costNanoUsd)).toEqual([cost, cost]);
    },
  );

  test('has results in the order of their calls, for clients of chat completions', async () => {
    const gateway = await start();
    gateway.upstream.script(json(200, PLAIN));
    const call = (id: string) => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } });
    const messages = [
      ...QUESTION,
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'b', content: 'of b' },
      { role: 'tool', tool_call_id: 'a', content: 'of a' },
    ];
    expect((await gateway.post({ model: 'vertex/gemini-3-pro', messages })).status).toBe(200);
    const [request] = gateway.upstream.requests as [RecordedRequest];
    expect(bodyOf(request).contents.at(-1).parts).toEqual([
      { functionResponse: { name: 'read', response: { output: 'of a' } } },
      { functionResponse: { name: 'read', response: { output: 'of b' } } },
    ]);
  });

  test('counts by its own endpoint, which takes no request around what is counted', async () => {
    const gateway = await start();
    gateway.upstream.script(json(200, { totalTokens: 42 }));
    const generateContentRequest = {
      model: 'models/vertex/gemini-2.5-flash',
      contents,
      safetySettings: [],
    };
    const path = '/v1beta/models/vertex/gemini-2.5-flash:countTokens';
    expect(JSON.parse((await send(gateway, path, { generateContentRequest })).text())).toEqual({
      totalTokens: 42,
    });
    const [request] = gateway.upstream.requests as [RecordedRequest];
    expect(request.path).toBe(`${ours}:countTokens`);
    expect(Object.keys(bodyOf(request))).toEqual(['contents']);
    expect(await gateway.settled(1)).toMatchObject([{ costNanoUsd: 0 }]);
  });

  test.each(['/v1beta1', '/v1/projects/theirs/locations/eu'])(
    'of Vertex AI have their requests at %s served by the account',
    async (place) => {
      const gateway = await start();
      gateway.upstream.queue(json(200, PLAIN), json(200, { totalTokens: 3 }));
      const path = `${place}/publishers/google/models/gemini-2.5-flash`;
      const answer = await send(gateway, `${path}:generateContent`, { contents: HI });
      expect(JSON.parse(answer.text())).toEqual(PLAIN);
      const count = await send(gateway, `${path}:countTokens`, { contents: HI });
      expect(JSON.parse(count.text())).toEqual({ totalTokens: 3 });
      expect(gateway.upstream.requests.map((request) => request.path)).toEqual([
        `${ours}:generateContent`,
        `${ours}:countTokens`,
      ]);
      const refused = await send(gateway, `${path}:predict`, {});
      expect([refused.status, JSON.parse(refused.text()).error.status]).toEqual([404, 'NOT_FOUND']);
      const cache = await send(gateway, `${place}/cachedContents`, { contents: HI });
      expect([cache.status, JSON.parse(cache.text()).error]).toMatchObject([
        404,
        { status: 'NOT_FOUND', message: expect.stringContaining('cost by the hour') },
      ]);
    },
  );

  test("of Vertex AI are refused by a budget in Google's words, clients of Claude there in Anthropic's", async () => {
    const gateway = await start({ budget: { capUsd: 0, period: 'daily' } });
    const place = '/v1/projects/theirs/locations/eu/publishers';
    const own = await send(gateway, `${place}/google/models/gemini-2.5-flash:generateContent`, {
      contents: HI,
    });
    expect([own.status, JSON.parse(own.text()).error.details[0].reason]).toEqual([402, 'budget_exceeded']);
    const body = { anthropic_version: 'vertex-2023-10-16', max_tokens: 5, messages: QUESTION };
    const claude = await send(gateway, `${place}/anthropic/models/${MODEL}:rawPredict`, body);
    expect([claude.status, JSON.parse(claude.text()).error.type]).toEqual([402, 'billing_error']);
  });

  test("of Vertex AI have the models of any provider: Google's client makes it the publisher", async () => {
    const gateway = await start();
    const path = '/v1beta1/publishers/sandbox/models/free:generateContent';
    const answer = await send(gateway, path, { contents: HI });
    expect(answer.status).toBe(200);
    expect(await gateway.settled(1)).toMatchObject([{ provider: 'sandbox', outcome: 'ok' }]);
  });

  test('is reached by a key without a project, in express mode, by clients of each API', async () => {
    const gateway = await startClouds(
      { vertex: { region: 'global' } },
      { credentials: { vertex: 'AQ.key-1' } },
    );
    gateway.upstream.script(json(200, PLAIN));
    const model = 'vertex/gemini-2.5-flash';
    const own = await send(gateway, `/v1beta/models/${model}:generateContent`, { contents: HI });
    expect(JSON.parse(own.text())).toEqual(PLAIN);
    expect((await gateway.post({ model, messages: QUESTION })).status).toBe(200);
    for (const request of gateway.upstream.requests) {
      expect(request.path).toBe('/v1/publishers/google/models/gemini-2.5-flash:generateContent');
      expect(headerIn(request, 'x-goog-api-key')).toBe('AQ.key-1');
      expect(headerIn(request, 'authorization')).toBeUndefined();
    }
    const cost = 10 * 300 + 5 * 2500;
    expect((await gateway.settled(2)).map(({ costNanoUsd }) => costNanoUsd)).toEqual([cost, cost]);
  });

  describe('embeddings of Vertex AI', () => {
    const place = '/v1beta1/publishers/google/models';
    const models = '/v1/projects/ours/locations/global/publishers/google/models';
    const vector = (token_count: number) => ({
      embeddings: { statistics: { truncated: false, token_count }, values: [0.1] },
    });
    const instances = [{ content: 'word '.repeat(20), task_type: 'RETRIEVAL_QUERY' }, { content: 'Hi' }];
    const parameters = { outputDimensionality: 768 };
    const PREDICT = `${place}/gemini-embedding-001:predict`;

    test('of older models are predictions, booked at what is reported of each text', async () => {
      const gateway = await start({ budget: { capUsd: 0.000_1, period: 'daily' } });
      const answer = { predictions: [vector(20), vector(2)] };
      gateway.upstream.script(json(200, answer));
      const given = await send(gateway, PREDICT, { instances, parameters });
      expect(JSON.parse(given.text())).toEqual(answer);
      const [request] = gateway.upstream.requests as [RecordedRequest];
      expect([request.path, bodyOf(request)]).toEqual([
        `${models}/gemini-embedding-001:predict`,
        { instances, parameters },
      ]);
      const [record] = await gateway.settled(1);
      expect(record).toMatchObject({
        provider: 'vertex',
        endpoint: 'embedContent',
        inputTokens: 22,
        flags: [],
      });
      expect(record?.costNanoUsd).toBe(22 * 150);
      const large = [{ content: 'w'.repeat(2_000) }];
      expect((await send(gateway, PREDICT, { instances: large })).status).toBe(402);
      const picture = [{ content: 'Hi', image: { gcsUri: 'gs://bucket/picture.png' } }];
      expect((await send(gateway, PREDICT, { instances: picture })).status).toBe(402);
    });

    test('without a report of each text are booked by what gw counts, and say so', async () => {
      const gateway = await start();
      const { statistics: _, ...bare } = vector(0).embeddings;
      gateway.upstream.script(json(200, { predictions: [vector(20), { embeddings: bare }] }));
      await send(gateway, PREDICT, { instances });
      expect((await gateway.settled(1))[0]?.flags).toEqual(['estimated']);
    });

    test('of newer models have a method of their own', async () => {
      const gateway = await start();
      const answer = { embedding: { values: [0.1] }, usageMetadata: { promptTokenCount: 4 } };
      gateway.upstream.script(json(200, answer));
      const body = {
        content: { parts: [{ text: 'Hi' }] },
        embedContentConfig: { taskType: 'RETRIEVAL_QUERY' },
      };
      const given = await send(gateway, `${place}/gemini-embedding-2:embedContent`, body);
      expect(JSON.parse(given.text())).toEqual(answer);
      const [request] = gateway.upstream.requests as [RecordedRequest];
      expect([request.path, bodyOf(request)]).toEqual([`${models}/gemini-embedding-2:embedContent`, body]);
      expect(await gateway.settled(1)).toMatchObject([{ provider: 'vertex', inputTokens: 4 }]);
    });

    test("by OpenAI's API go to that of Vertex AI", async () => {
      const gateway = await start();
      gateway.upstream.script(
        json(200, { object: 'list', data: [], usage: { prompt_tokens: 2, total_tokens: 2 } }),
      );
      const model = 'vertex/gemini-embedding-001';
      expect((await send(gateway, '/v1/embeddings', { model, input: 'Hi' })).status).toBe(200);
      expect(gateway.upstream.requests[0]?.path).toContain('/endpoints/openapi/embeddings');
    });
  });

  test('errors come in the words of each client, and of a list of them the first', async () => {
    const gateway = await start();
    const refusal = { code: 429, message: 'Resource exhausted', status: 'RESOURCE_EXHAUSTED' };
    gateway.upstream.script(json(429, [{ error: refusal }]));
    const model = 'vertex/gemini-2.5-flash';
    const own = await send(gateway, `/v1beta/models/${model}:generateContent`, { contents: HI });
    const chat = await gateway.post({ model, messages: QUESTION });
    const messages = await ask(gateway, model);
    expect([own, chat, messages].map(({ status }) => status)).toEqual([429, 429, 429]);
    expect(JSON.parse(messages.text()).error).toEqual({
      type: 'rate_limit_error',
      message: refusal.message,
    });
    expect(JSON.parse(chat.text()).error).toMatchObject({ type: 'rate_limit_error' });
  });
});

test('a token that expires in the middle of a session is renewed once, without a failed request', async () => {
  const { service, tokens } = await defaultCredentials();
  const gateway = await startClouds({ vertex: { project: 'my-project' } });
  let token = 'google-token-1';
  gateway.upstream.script(withToken(() => token, json(200, hello)));
  expect((await ask(gateway, `vertex/${MODEL}`)).status).toBe(200);
  token = 'google-token-2';
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(gateway, `vertex/${MODEL}`)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(tokens()).toBe(2);
  await service.close();
});

test('without credentials the answer names the command', async () => {
  setEnv({ GOOGLE_APPLICATION_CREDENTIALS: '/nowhere/adc.json' });
  const gateway = await startClouds({ vertex: { project: 'my-project' } });
  const response = await ask(gateway, `vertex/${MODEL}`);
  expect(response.status).toBe(502);
  expect(response.text()).toContain('gcloud auth application-default login');
  expect(gateway.upstream.requests).toEqual([]);
});
