import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { hasOpenAiSchema, openAiEventFaults, openAiFaults } from '../support/openai-schema.ts';
import { loadSdk } from '../wire/support/load-sdk.ts';
import { send } from '../wire/support/send.ts';

const MODEL = 'sandbox/echo';
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const CALLED = { city: 'example' };

const openai = ({ url, key }: TestGateway) => new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
const faults = (name: string, value: unknown) => (hasOpenAiSchema ? openAiFaults(name, value) : []);

/** Expects the usage to be booked as reported. */
async function booked(gateway: TestGateway, requests: number): Promise<void> {
  const records = await gateway.settled(requests);
  expect(records).toHaveLength(requests);
  for (const { outcome, inputTokens, costNanoUsd, flags } of records) {
    expect([outcome, flags.includes('estimated')]).toEqual(['ok', false]);
    expect(Math.min(inputTokens, costNanoUsd)).toBeGreaterThan(0);
  }
}

test('responses: plain, streamed, and with a tool call', { timeout: 180_000 }, async () => {
  const gateway = await startGateway();
  const client = openai(gateway);
  const body = { model: MODEL, input: 'Hi there' };
  const plain = await client.responses.create(body);
  expect(plain.output_text).toContain('Hi there');
  const { output_text: _added, ...answer } = plain;
  expect(faults('Response', answer)).toEqual([]);
  let text = '';
  const events = new Map<string, { type: string }>();
  for await (const event of await client.responses.create({ ...body, stream: true })) {
    events.set(event.type, event);
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  expect(text).toBe(plain.output_text);
  if (hasOpenAiSchema) expect([...events.values()].flatMap(openAiEventFaults)).toEqual([]);
  const tools = [{ type: 'function' as const, name: 'weather', parameters: PARAMETERS, strict: false }];
  const called = await client.responses.create({ ...body, tools, tool_choice: 'required' });
  expect(called.output).toMatchObject([
    { type: 'function_call', name: 'weather', arguments: JSON.stringify(CALLED) },
  ]);
  const format = { type: 'json_schema' as const, name: 'place', schema: PARAMETERS };
  expect(JSON.parse((await client.responses.create({ ...body, text: { format } })).output_text)).toEqual(
    CALLED,
  );
  await booked(gateway, 4);
});

test('messages: plain, streamed, and with a tool call', async () => {
  const gateway = await startGateway();
  interface Message {
    content: { type: string; text?: string; input?: unknown }[];
    usage: { output_tokens: number };
  }
  const sdk = await loadSdk<{
    default: new (
      options: object,
    ) => {
      messages: {
        create(body: object): Promise<Message>;
        stream(body: object): { finalMessage(): Promise<Message> };
      };
    };
  }>('@anthropic-ai/sdk');
  if (!sdk) return;
  const { messages } = new sdk.default({ baseURL: gateway.origin, apiKey: gateway.key });
  const body = { model: MODEL, max_tokens: 500, messages: [{ role: 'user', content: 'Hi there' }] };
  const plain = await messages.create(body);
  expect(plain.content[0]?.text).toContain('Hi there');
  expect((await messages.stream(body).finalMessage()).content).toEqual(plain.content);
  const tools = [{ name: 'weather', input_schema: PARAMETERS }];
  const called = await messages.create({ ...body, tools, tool_choice: { type: 'any' } });
  expect(called.content).toMatchObject([{ type: 'tool_use', input: CALLED }]);
  await booked(gateway, 3);
});

test('embeddings: equal for equal texts, close for texts that share words, in both formats', async () => {
  const gateway = await startGateway();
  const input = ['a red house', 'the red house', 'quantum physics'];
  const body = { model: MODEL, input };
  const answer = (await send(gateway, '/v1/embeddings', body)).json() as OpenAI.CreateEmbeddingResponse;
  expect(faults('CreateEmbeddingResponse', answer)).toEqual([]);
  const [a = [], b = [], c = []] = answer.data.map(({ embedding }) => embedding);
  const product = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
  expect(product(a, a)).toBeCloseTo(1, 5);
  expect(product(a, b)).toBeGreaterThan(product(a, c));
  // The SDK asks for base64.
  const decoded = await openai(gateway).embeddings.create({ model: MODEL, input: 'a red house' });
  expect(decoded.data[0]?.embedding).toEqual(a);
  const short = await openai(gateway).embeddings.create({ ...body, dimensions: 8 });
  expect(short.data.map(({ embedding }) => embedding.length)).toEqual([8, 8, 8]);
  await booked(gateway, 3);
  expect((await send(gateway, '/v1/embeddings', { model: MODEL, input: 7 })).json()).toMatchObject({
    error: { param: 'input' },
  });
});

test('legacy completions: each prompt is answered, plain and streamed', async () => {
  const gateway = await startGateway();
  const client = openai(gateway);
  const plain = await client.completions.create({ model: MODEL, prompt: ['One', 'Two'] });
  expect(plain.choices.map(({ index, text }) => [index, /“(.*)”/.exec(text)?.[1]])).toEqual([
    [0, 'One'],
    [1, 'Two'],
  ]);
  const pieces: string[] = [];
  const options = { stream: true as const, stream_options: { include_usage: true } };
  let last: OpenAI.Completion | undefined;
  for await (const chunk of await client.completions.create({ model: MODEL, prompt: 'One', ...options })) {
    pieces.push(chunk.choices[0]?.text ?? '');
    last = chunk;
  }
  expect(pieces.join('')).toBe(plain.choices[0]?.text);
  expect(last?.usage?.completion_tokens).toBeGreaterThan(0);
  await booked(gateway, 2);
});
