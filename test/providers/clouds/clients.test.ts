import { describe, expect, test } from 'vitest';
import { json } from '../../support/scripts.ts';
import { events } from '../../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../../wire/support/messages-shapes.ts';
import { send } from '../../wire/support/send.ts';
import { headerIn, startClouds } from './support/clouds.ts';
import { readFrames } from './support/frames.ts';

const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const BODY = {
  anthropic_version: 'bedrock-2023-05-31',
  anthropic_beta: ['context-1m-2025-08-07'],
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hi' }],
};
const INVOKE = `/model/${encodeURIComponent(MODEL)}/invoke`;
const hello = messageBody([text('Hello')]);

const start = (options: object = {}) =>
  startClouds(
    { bedrock: { region: 'us-east-1' }, vertex: { project: 'ours', keyEnv: 'TOKEN' } },
    { credentials: { bedrock: 'key', mock: 'provider-key' }, env: { TOKEN: 'token' }, ...options },
  );

test("a client of Bedrock's InvokeModel is served as any other client of the messages API", async () => {
  const gateway = await start();
  gateway.upstream.script(json(200, hello));
  const response = await send(gateway, INVOKE, BODY);
  expect(response.status).toBe(200);
  expect(JSON.parse(response.text())).toEqual(hello);
  const [request] = gateway.upstream.requests;
  expect(request?.path).toBe('/anthropic/v1/messages');
  expect(request && headerIn(request, 'anthropic-beta')).toBe('context-1m-2025-08-07');
  expect(JSON.parse(request?.body.toString() ?? '')).toEqual({
    model: MODEL,
    max_tokens: 100,
    messages: BODY.messages,
  });
  expect(await gateway.settled(1)).toMatchObject([{ provider: 'bedrock', model: MODEL, outcome: 'ok' }]);
});

test('its stream is in frames that the codec of AWS reads', async () => {
  const gateway = await start();
  const stream = messageStream([text('Hello, 日本')]);
  gateway.upstream.script(events(stream));
  const response = await send(gateway, `${INVOKE}-with-response-stream`, BODY);
  expect(response.header('content-type')).toBe('application/vnd.amazon.eventstream');
  const read = readFrames(response.body).map(([kind, { bytes }]) => [
    kind,
    JSON.parse(Buffer.from(String(bytes), 'base64').toString()),
  ]);
  expect(read).toEqual(stream.map(([, data]) => ['chunk', data]));
});

test("a client of Vertex AI's rawPredict is served, plain and streamed", async () => {
  const gateway = await start();
  gateway.upstream.queue(json(200, hello), events(messageStream([text('Hello')])));
  const models = '/v1/projects/theirs/locations/global/publishers/anthropic/models';
  const body = { ...BODY, anthropic_version: 'vertex-2023-10-16' };
  const plain = await send(gateway, `${models}/claude-opus-4-8:rawPredict`, body);
  expect(JSON.parse(plain.text())).toEqual(hello);
  const streamed = await send(gateway, `${models}/claude-opus-4-8:streamRawPredict`, {
    ...body,
    stream: true,
  });
  expect(streamed.text()).toContain('event: message_stop');
  expect(gateway.upstream.requests[1]?.path).toBe(
    '/v1/projects/ours/locations/global/publishers/anthropic/models/claude-opus-4-8:streamRawPredict',
  );
});

test("a client of Foundry is served by Azure's account, one of Bedrock's messages API by Bedrock's", async () => {
  const gateway = await start();
  gateway.configure({
    providers: {
      azure: { baseUrl: `${new URL(gateway.upstream.url).origin}/openai/v1` },
      bedrock: { region: 'us-east-1', baseUrl: new URL(gateway.upstream.url).origin },
    },
  });
  gateway.upstream.queue(json(200, hello), events(messageStream([text('Hello')])));
  await send(gateway, '/anthropic/v1/messages', { ...BODY, model: 'work' });
  const streamed = { ...BODY, model: 'anthropic.claude-opus-4-8', stream: true };
  expect((await send(gateway, '/anthropic/v1/messages', streamed)).text()).toContain('message_stop');
  const records = await gateway.settled(2);
  expect(records.map(({ provider, model }) => `${provider}/${model}`)).toEqual([
    'azure/work',
    'bedrock/anthropic.claude-opus-4-8',
  ]);
});

test.each([
  [INVOKE, 'claude-sonnet-4-5-20250929'],
  [
    '/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-8@20260528:rawPredict',
    'claude-opus-4-8-20260528',
  ],
  [
    '/v1/projects/p/locations/l/publishers/anthropic/models/anthropic/claude-opus-4-8:rawPredict',
    'claude-opus-4-8',
  ],
])('without an account at the cloud, %s is served by another provider', async (path, model) => {
  const gateway = await start({ credentials: { anthropic: 'key' } });
  gateway.configure({ providers: { anthropic: { baseUrl: gateway.upstream.url } } });
  gateway.upstream.script(json(200, hello));
  expect((await send(gateway, path, BODY)).status).toBe(200);
  expect(await gateway.settled(1)).toMatchObject([{ provider: 'anthropic', model }]);
});

describe('the count of a request', () => {
  const messages = BODY.messages;
  const asked = { converse: { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] } };
  const COUNT = INVOKE.replace(/invoke$/, 'count-tokens');

  test('is what Vertex AI counts, at its address for counts', async () => {
    const gateway = await start();
    gateway.upstream.script(json(200, { input_tokens: 42 }));
    const body = { model: 'claude-opus-4-8@20260528', messages };
    const path = '/v1/projects/theirs/locations/global/publishers/anthropic/models/count-tokens:rawPredict';
    const answer = await send(gateway, path, { ...body, anthropic_version: 'vertex-2023-10-16' });
    expect(JSON.parse(answer.text())).toEqual({ input_tokens: 42 });
    const [request] = gateway.upstream.requests;
    expect(request?.path).toBe(path.replace('theirs', 'ours'));
    expect(JSON.parse(request?.body.toString() ?? '')).toEqual({ ...body, model: 'claude-opus-4-8' });
    expect(await gateway.settled(1)).toMatchObject([{ endpoint: 'messages/count_tokens', costNanoUsd: 0 }]);
  });

  test.each([
    ['Converse', asked],
    ['InvokeModel', { invokeModel: { body: Buffer.from(JSON.stringify(BODY)).toString('base64') } }],
  ])("is mantle's for a body of %s, and gw's own at the other surfaces", async (_, input) => {
    const gateway = await start();
    const origin = new URL(gateway.upstream.url).origin;
    gateway.upstream.script(json(200, { input_tokens: 42 }));
    const own = JSON.parse((await send(gateway, COUNT, { input })).text());
    expect(own.inputTokens).toBeGreaterThan(0);
    expect(gateway.upstream.requests).toEqual([]);
    gateway.configure({
      providers: { bedrock: { region: 'us-east-1', surface: 'mantle', baseUrl: origin } },
    });
    expect(JSON.parse((await send(gateway, COUNT, { input })).text())).toEqual({ inputTokens: 42 });
    const [request] = gateway.upstream.requests;
    expect(request?.path).toBe('/anthropic/v1/messages/count_tokens');
    expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ model: MODEL });
    expect(JSON.parse(request?.body.toString() ?? '')).not.toHaveProperty('max_tokens');
  });

  test("without a request is refused in AWS's words", async () => {
    const gateway = await start();
    const refused = await send(gateway, COUNT, { input: {} });
    expect([refused.status, JSON.parse(refused.text()).__type]).toEqual([400, 'ValidationException']);
  });
});

test("a signature with gw's key as its access key is served, and no other credential of it goes on", async () => {
  const gateway = await start();
  gateway.upstream.script(json(200, hello));
  const authorization = `AWS4-HMAC-SHA256 Credential=${gateway.key}/20261128/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=00`;
  const headers = {
    ...{ authorization, 'x-amz-security-token': 'a-session' },
    // The type of bytes that AWS's SDKs send unless told otherwise.
    'content-type': 'application/octet-stream',
  };
  expect((await send(gateway, INVOKE, BODY, { headers })).status).toBe(200);
  const [request] = gateway.upstream.requests;
  expect(request && headerIn(request, 'content-type')).toBe('application/json');
  expect(request && headerIn(request, 'authorization')).toBe('Bearer key');
  expect(request && headerIn(request, 'x-amz-security-token')).toBeUndefined();
});

test("refusals are in the client's words, and a signature gets a sentence", async () => {
  const gateway = await start({ budget: { capUsd: 0, period: 'daily' } });
  const refused = await send(gateway, INVOKE, BODY);
  expect(refused.status).toBe(402);
  expect(JSON.parse(refused.text())).toMatchObject({
    type: 'error',
    error: { type: 'billing_error' },
    __type: 'ServiceQuotaExceededException',
    message: expect.stringContaining('gw budget set'),
  });
  const authorization = 'AWS4-HMAC-SHA256 Credential=AKID/20261128/us-east-1/bedrock/aws4_request';
  const signed = await send(gateway, INVOKE, BODY, { headers: { authorization } });
  expect(signed.status).toBe(401);
  expect(signed.text()).toContain('AWS_BEARER_TOKEN_BEDROCK');
  expect((await send(gateway, INVOKE, Buffer.from('{"max_tokens":'))).status).toBe(400);
});
