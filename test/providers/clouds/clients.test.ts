import { EventStreamCodec } from '@smithy/core/event-streams';
import { expect, test } from 'vitest';
import { json } from '../../support/scripts.ts';
import { events } from '../../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../../wire/support/messages-shapes.ts';
import { send } from '../../wire/support/send.ts';
import { headerIn, startClouds } from './support/clouds.ts';

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
  const codec = new EventStreamCodec(
    (bytes) => Buffer.from(bytes as Uint8Array).toString(),
    (each) => Buffer.from(each),
  );
  const read: string[] = [];
  for (let at = 0; at < response.body.length; ) {
    const length = response.body.readUInt32BE(at);
    const { headers, body } = codec.decode(response.body.subarray(at, at + length));
    expect(headers[':event-type']?.value).toBe('chunk');
    read.push(Buffer.from(JSON.parse(Buffer.from(body).toString()).bytes, 'base64').toString());
    at += length;
  }
  expect(read.map((each) => JSON.parse(each))).toEqual(stream.map(([, data]) => data));
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
  const counted = await send(gateway, `${models}/count-tokens:rawPredict`, body);
  expect(counted.status).toBe(404);
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

test("refusals are in the client's words, and a signature gets a sentence", async () => {
  const gateway = await start({ budget: { capUsd: 0, period: 'daily' } });
  const refused = await send(gateway, INVOKE, BODY);
  expect(refused.status).toBe(402);
  expect(JSON.parse(refused.text())).toMatchObject({ type: 'error', error: { type: 'billing_error' } });
  const authorization = 'AWS4-HMAC-SHA256 Credential=AKID/20261128/us-east-1/bedrock/aws4_request';
  const signed = await send(gateway, INVOKE, BODY, { headers: { authorization } });
  expect(signed.status).toBe(401);
  expect(signed.text()).toContain('AWS_BEARER_TOKEN_BEDROCK');
  expect((await send(gateway, INVOKE, Buffer.from('{"max_tokens":'))).status).toBe(400);
});
