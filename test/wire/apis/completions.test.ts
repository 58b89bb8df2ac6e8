import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startGateway } from '../../support/gateway.ts';
import { either } from '../support/event-scripts.ts';
import { send, sentBody } from '../support/send.ts';

const USAGE = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
const choice = (text: string, finish_reason: string | null) => ({
  text,
  index: 0,
  logprobs: null,
  finish_reason,
});
const part = (rest: object) => ({
  id: 'cmpl-1',
  object: 'text_completion',
  created: 1,
  model: 'test-model',
  ...rest,
});
const SCRIPT = either(part({ choices: [choice('a b', 'stop')], usage: USAGE }), [
  ['', part({ choices: [choice('a', null)], usage: null })],
  ['', part({ choices: [choice(' b', 'stop')], usage: null })],
  ['', part({ choices: [], usage: USAGE })],
  ['', '[DONE]'],
]);

test('the SDK completes a prompt, plain and streamed; usage is booked but hidden from the client', async () => {
  const gateway = await startGateway();
  gateway.upstream.script(SCRIPT);
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const plain = await client.completions.create({ model: 'mock/test-model', prompt: 'Once' });
  expect(plain.choices[0]?.text).toBe('a b');

  const chunks: OpenAI.Completion[] = [];
  const stream = await client.completions.create({ model: 'mock/test-model', prompt: 'Once', stream: true });
  for await (const chunk of stream) chunks.push(chunk);
  expect(chunks.map(({ choices }) => choices[0]?.text)).toEqual(['a', ' b']);
  expect(sentBody(gateway).stream_options).toEqual({ include_usage: true });

  const records = await gateway.records();
  expect(records.map(({ endpoint }) => endpoint)).toEqual(['completions', 'completions']);
  expect(records.map(({ costNanoUsd }) => costNanoUsd)).toEqual([19_000, 19_000]);
});

test('the hold covers each prompt of a list and each answer of best_of', async () => {
  const gateway = await startGateway({ budget: { capUsd: 1, period: 'daily' } });
  gateway.upstream.script(SCRIPT);
  const body = { model: 'mock/test-model', prompt: ['a', 'b'], best_of: 3, n: 2, max_tokens: 1000 };
  await send(gateway, '/v1/completions', body);
  const [record] = await gateway.records();
  expect(record?.holdNanoUsd).toBeGreaterThanOrEqual(2 * 3 * 1000 * 2000);
  expect(record?.holdNanoUsd).toBeLessThan(2 * 3 * 1000 * 2000 + 1_000_000);
});
