import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RecordedRequest } from '../../support/exchange.ts';
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
  const start = () =>
    startClouds({ vertex: { project: 'ours', keyEnv: 'TOKEN' } }, { env: { TOKEN: 'token' } });
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
      expect((await send(gateway, `${path}:predict`, {})).status).toBe(404);
    },
  );

  test("of Vertex AI have the models of any provider: Google's client makes it the publisher", async () => {
    const gateway = await start();
    const path = '/v1beta1/publishers/sandbox/models/free:generateContent';
    const answer = await send(gateway, path, { contents: HI });
    expect(answer.status).toBe(200);
    expect(await gateway.settled(1)).toMatchObject([{ provider: 'sandbox', outcome: 'ok' }]);
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
