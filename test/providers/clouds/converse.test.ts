import { expect, test } from 'vitest';
import { chunkBody, completionBody, usageOf } from '../../support/chat-shapes.ts';
import { json } from '../../support/scripts.ts';
import { events } from '../../wire/support/event-scripts.ts';
import {
  anthropicError,
  messageBody,
  messageStream,
  messageUsage,
  text,
  toolUse,
} from '../../wire/support/messages-shapes.ts';
import { send, sentBody, sentHeader } from '../../wire/support/send.ts';
import { startClouds } from './support/clouds.ts';
import { readFrames } from './support/frames.ts';

const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const pathOf = (operation: string, model = MODEL) => `/model/${encodeURIComponent(model)}/${operation}`;
const CONVERSE = pathOf('converse');
const HI = { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] };
const bytesOf = (value: string) => Buffer.from(value).toString('base64');

const start = (options: object = {}) =>
  startClouds({ bedrock: { region: 'us-east-1' } }, { credentials: { bedrock: 'key' }, ...options });

test('a request has its parts as a messages request', async () => {
  const gateway = await start();
  gateway.upstream.script(json(200, messageBody([text('Hello')])));
  const schema = { type: 'object', properties: { city: { type: 'string' } } };
  const response = await send(gateway, CONVERSE, {
    system: [{ text: 'Be kind.' }, { cachePoint: { type: 'default', ttl: '1h' } }],
    messages: [
      {
        role: 'user',
        content: [
          { text: 'What is this?' },
          { image: { format: 'png', source: { bytes: bytesOf('png') } } },
          { document: { format: 'pdf', name: 'a', source: { bytes: bytesOf('pdf') } } },
          { document: { format: 'md', name: 'b', source: { bytes: bytesOf('# Title') } } },
          { guardContent: { text: { text: 'guarded' } } },
          { cachePoint: { type: 'default' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Hm', signature: 'signed' } } },
          { reasoningContent: { redactedContent: bytesOf('sealed') } },
          { toolUse: { toolUseId: 't1', name: 'weather', input: { city: 'Rome' } } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            toolResult: {
              toolUseId: 't1',
              content: [{ json: { c: 20 } }, { text: 'warm' }],
              status: 'error',
            },
          },
        ],
      },
    ],
    inferenceConfig: { maxTokens: 200, temperature: 0.5, stopSequences: ['END'] },
    toolConfig: {
      tools: [
        { toolSpec: { name: 'weather', description: 'of a city', inputSchema: { json: schema } } },
        { cachePoint: { type: 'default' } },
      ],
      toolChoice: { tool: { name: 'weather' } },
    },
    outputConfig: {
      textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: JSON.stringify(schema) } } },
    },
    additionalModelRequestFields: { top_k: 5, anthropic_beta: ['context-1m-2025-08-07'] },
    requestMetadata: { team: 'a' },
    performanceConfig: { latency: 'standard' },
  });
  expect(response.status).toBe(200);
  const mark = { cache_control: { type: 'ephemeral' } };
  expect(sentHeader(gateway, 'anthropic-beta')).toBe('context-1m-2025-08-07');
  expect(sentBody(gateway)).toEqual({
    model: MODEL,
    max_tokens: 200,
    temperature: 0.5,
    stop_sequences: ['END'],
    top_k: 5,
    system: [{ ...text('Be kind.'), cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      {
        role: 'user',
        content: [
          text('What is this?'),
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: bytesOf('png') } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: bytesOf('pdf') },
            title: 'a',
          },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: '# Title' },
            title: 'b',
          },
          { ...text('guarded'), ...mark },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 'signed' },
          { type: 'redacted_thinking', data: 'sealed' },
          toolUse('t1', 'weather', { city: 'Rome' }),
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 't1',
            content: [text('{"c":20}'), text('warm')],
            is_error: true,
          },
        ],
      },
    ],
    tools: [{ name: 'weather', description: 'of a city', input_schema: schema, ...mark }],
    tool_choice: { type: 'tool', name: 'weather' },
    output_config: { format: { type: 'json_schema', schema } },
  });
});

test('an answer has the parts of Converse, and its cost is on record', async () => {
  const gateway = await start();
  const usage = messageUsage(10, 7, { cache_read_input_tokens: 100 });
  const content = [
    { type: 'thinking', thinking: 'Hm', signature: 'signed' },
    { type: 'redacted_thinking', data: 'sealed' },
    text('Hello'),
    toolUse('t1', 'weather', { city: 'Rome' }),
  ];
  gateway.upstream.script(json(200, messageBody(content, { usage, stop_reason: 'tool_use' })));
  const response = await send(gateway, CONVERSE, HI);
  expect(response.header('content-type')).toBe('application/json');
  expect(JSON.parse(response.text())).toEqual({
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Hm', signature: 'signed' } } },
          { reasoningContent: { redactedContent: bytesOf('sealed') } },
          { text: 'Hello' },
          { toolUse: { toolUseId: 't1', name: 'weather', input: { city: 'Rome' } } },
        ],
      },
    },
    stopReason: 'tool_use',
    usage: {
      inputTokens: 10,
      outputTokens: 7,
      totalTokens: 17,
      cacheReadInputTokens: 100,
      cacheWriteInputTokens: 0,
    },
    metrics: { latencyMs: expect.any(Number) },
  });
  // Without a limit of its own: the model's.
  expect(sentBody(gateway).max_tokens).toBe(64_000);
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ provider: 'bedrock', model: MODEL, inputTokens: 110, outputTokens: 7 });
  // A tenth more than $3, $0.30 and $15 a million.
  expect(record?.costNanoUsd).toBe(10 * 3300 + 100 * 330 + 7 * 16_500);
});

test('a stream is in frames of Converse', async () => {
  const gateway = await start();
  const content = [
    { type: 'thinking', thinking: 'Hm', signature: 'signed' },
    text('Hello, 日本'),
    toolUse('t1', 'weather', { city: 'Rome' }),
  ];
  gateway.upstream.script(events(messageStream(content, { stopReason: 'tool_use' })));
  const response = await send(gateway, pathOf('converse-stream'), HI);
  expect(response.header('content-type')).toBe('application/vnd.amazon.eventstream');
  const read = readFrames(response.body);
  expect(read[0]).toEqual(['messageStart', { role: 'assistant' }]);
  const deltas = read.flatMap(([kind, { delta }]) => (kind === 'contentBlockDelta' ? [delta] : []));
  const joined = (name: string) =>
    deltas.map((delta) => (delta as Record<string, unknown>)[name]).filter((each) => each !== undefined);
  expect(joined('text').join('')).toBe('Hello, 日本');
  expect(joined('reasoningContent')).toContainEqual({ signature: 'signed' });
  const input = joined('toolUse').map((each) => (each as { input: string }).input);
  expect(JSON.parse(input.join(''))).toEqual({ city: 'Rome' });
  expect(read).toContainEqual([
    'contentBlockStart',
    { start: { toolUse: { toolUseId: 't1', name: 'weather' } }, contentBlockIndex: 2 },
  ]);
  expect(read.filter(([kind]) => kind === 'contentBlockStop')).toHaveLength(3);
  expect(read.slice(-2)).toMatchObject([
    ['messageStop', { stopReason: 'tool_use' }],
    ['metadata', { usage: { inputTokens: 20, outputTokens: 5, totalTokens: 25 } }],
  ]);
});

test('a model that is no Claude answers Converse by chat completions', async () => {
  const gateway = await start();
  const model = 'us.amazon.nova-pro-v1:0';
  const usage = usageOf(20, 5);
  gateway.upstream.queue(
    json(200, completionBody(model, 'Hello', usage)),
    events([
      ['', chunkBody(model, { delta: { role: 'assistant', content: 'Hello' } })],
      ['', chunkBody(model, { finish_reason: 'stop' })],
      ['', chunkBody(model, undefined, { usage })],
      ['', '[DONE]'],
    ]),
  );
  const whole = JSON.parse((await send(gateway, pathOf('converse', model), HI)).text());
  expect(whole.output.message.content).toEqual([{ text: 'Hello' }]);
  expect(gateway.upstream.requests[0]?.path).toBe('/openai/v1/chat/completions');
  expect(sentBody(gateway).max_tokens).toBeUndefined();
  const streamed = readFrames((await send(gateway, pathOf('converse-stream', model), HI)).body);
  expect(streamed).toContainEqual(['contentBlockDelta', { delta: { text: 'Hello' }, contentBlockIndex: 0 }]);
  expect(streamed.at(-1)).toMatchObject(['metadata', { usage: { inputTokens: 20, outputTokens: 5 } }]);
});

test.each([
  [{ ...HI, guardrailConfig: { guardrailIdentifier: 'g' } }, 'guardrailConfig'],
  [{ ...HI, performanceConfig: { latency: 'optimized' } }, 'performanceConfig.latency'],
  [{ ...HI, serviceTier: { type: 'priority' } }, 'serviceTier.type'],
  [{ ...HI, promptVariables: { a: { text: 'b' } } }, 'promptVariables'],
  [{ ...HI, additionalModelResponseFieldPaths: ['/a'] }, 'additionalModelResponseFieldPaths'],
  [{ ...HI, inferenceConfig: { minTokens: 5 } }, 'inferenceConfig.minTokens'],
  [{ messages: [{ role: 'user', content: [{ video: { format: 'mp4' } }] }] }, 'messages[0].content[0].video'],
  [
    {
      messages: [
        { role: 'user', content: [{ image: { format: 'png', source: { s3Location: { uri: 's3://a' } } } }] },
      ],
    },
    'messages[0].content[0].image.source.s3Location',
  ],
  [{ messages: [{ role: 'user', content: [{ cachePoint: {} }] }] }, 'messages[0].content[0].cachePoint'],
  [{ ...HI, toolConfig: { tools: [{ systemTool: { name: 'nova_grounding' } }] } }, 'systemTool'],
  [{ messages: 'Hi' }, 'messages'],
])('%j is refused by name', async (body, name) => {
  const gateway = await start();
  const response = await send(gateway, CONVERSE, body);
  expect(response.status).toBe(400);
  const { __type, message } = JSON.parse(response.text());
  expect(__type).toBe('ValidationException');
  expect(message).toContain(name);
  expect(gateway.upstream.requests).toEqual([]);
});

test.each([
  ['converse', 400, 'invalid_request_error', 'ValidationException'],
  ['converse-stream', 403, 'permission_error', 'AccessDeniedException'],
  ['converse', 404, 'not_found_error', 'ResourceNotFoundException'],
  ['converse-stream', 429, 'rate_limit_error', 'ThrottlingException'],
  ['invoke', 503, 'overloaded_error', 'ServiceUnavailableException'],
  ['converse', 500, 'api_error', 'InternalServerException'],
])('%s: a %i of the provider has the name that clients of AWS look for', async (...each) => {
  const [operation, status, type, name] = each;
  const gateway = await start();
  gateway.upstream.script(json(status, anthropicError(type, 'the reason')));
  const body = operation === 'invoke' ? { max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] } : HI;
  const response = await send(gateway, pathOf(operation), body);
  const { __type, message } = JSON.parse(response.text());
  expect([response.status, __type]).toEqual([status, name]);
  expect(message).toContain('the reason');
});
