import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startGateway } from '../../support/gateway.ts';
import { json } from '../../support/scripts.ts';
import { send, sentBody } from '../support/send.ts';

const BASE64 = Buffer.from(new Float32Array([0.25, -1, 3]).buffer).toString('base64');
const answerOf = (embedding: unknown) => ({
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding }],
  model: 'test-model',
  usage: { prompt_tokens: 8, total_tokens: 8 },
  a_new_field: [1],
});

test('the SDK reads base64 embeddings unchanged, and the tokens are booked', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(json(200, answerOf(BASE64)));
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const { data } = await client.embeddings.create({ model: 'mock/test-model', input: 'some text' });
  expect(data[0]?.embedding).toEqual([0.25, -1, 3]);
  expect(sentBody(gateway)).toEqual({ model: 'test-model', input: 'some text', encoding_format: 'base64' });
  const [record] = await gateway.records();
  expect(record).toMatchObject({
    endpoint: 'embeddings',
    provider: 'mock',
    inputTokens: 8,
    outputTokens: 0,
    costNanoUsd: 8_000,
    outcome: 'ok',
    flags: [],
  });
});

test('a body goes upstream unchanged except for the model and the service options', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(json(200, answerOf([0.1])));
  const body =
    '{ "input" : ["a", "b"],\n "model":"mock/test-model", "service": {"optimize": false},"dimensions":1.0}';
  const response = await send(gateway, '/v1/embeddings', body);
  expect(response.json()).toEqual(answerOf([0.1]));
  expect(gateway.upstream.requests[0]?.path).toBe('/v1/embeddings');
  expect(gateway.upstream.requests[0]?.body.toString()).toBe(
    '{ "input" : ["a", "b"],\n "model":"test-model", "dimensions":1.0}',
  );
});

test('the hold covers no output: a budget slightly above the input is enough', async () => {
  const gateway = await startGateway({ budget: { capUsd: 0.001, period: 'daily' } });
  gateway.upstream.queue(json(200, answerOf([0.1])));
  const response = await send(gateway, '/v1/embeddings', { model: 'mock/test-model', input: [[1, 2], [3]] });
  expect(response.status).toBe(200);
});

test('a body without input is refused with param "input", and nothing goes upstream', async () => {
  const gateway = await startGateway();
  const response = await send(gateway, '/v1/embeddings', { model: 'mock/test-model' });
  expect(response.status).toBe(400);
  expect(response.json()).toMatchObject({ error: { param: 'input', code: 'missing_required_parameter' } });
  expect(gateway.upstream.requests).toHaveLength(0);
});
