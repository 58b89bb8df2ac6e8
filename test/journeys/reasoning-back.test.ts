import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json, respond } from '../support/scripts.ts';
import { sentBody } from '../wire/support/send.ts';

/** A provider that asks for the reasoning of each message with tool calls, as DeepSeek's API does. */
const MODEL = 'deepseek/deepseek-v4-pro';
const THOUGHT = 'I must read it.';
const call = { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"file":"a.go"}' } };
const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
const answer = {
  id: 'c1',
  object: 'chat.completion',
  model: 'deepseek-v4-pro',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, reasoning_content: THOUGHT, tool_calls: [call] },
      finish_reason: 'tool_calls',
    },
  ],
  usage,
};
const chunks = [
  { delta: { role: 'assistant', reasoning_content: 'I must ' } },
  { delta: { reasoning_content: 'read it.' } },
  { delta: { tool_calls: [{ index: 0, ...call }] } },
  { delta: {}, finish_reason: 'tool_calls' },
].map((choice) => ({ id: 'c1', model: 'deepseek-v4-pro', choices: [{ index: 0, ...choice }], usage: null }));
const stream = `${[...chunks, { id: 'c1', choices: [], usage }].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;

/** Google's API, which asks for the signature of a call's thoughts. */
const extra_content = { google: { thought_signature: 'CpQBsig' } };
const signedCall = { ...call, extra_content };

async function start(name = 'deepseek'): Promise<TestGateway> {
  const gateway = await startGateway({ credentials: { mock: 'k', [name]: 'k' } });
  gateway.configure({ providers: { [name]: { baseUrl: gateway.upstream.url } } });
  return gateway;
}

function answerFrom(gateway: TestGateway, isStream: boolean, isSigned = false): void {
  const plain = JSON.stringify(call);
  const signed = (text: string) =>
    isSigned ? text.replaceAll(plain.slice(1), JSON.stringify(signedCall).slice(1)) : text;
  gateway.upstream.queue(
    isStream
      ? respond(200, { 'content-type': 'text/event-stream' }, signed(stream))
      : respond(200, { 'content-type': 'application/json' }, signed(JSON.stringify(answer))),
  );
}

/** What the provider got as the assistant's message in the second turn. */
async function assistantMessage(gateway: TestGateway, body: object, path: string): Promise<unknown> {
  gateway.upstream.queue(json(200, { ...answer, choices: [{ index: 0, message: { content: 'Done' } }] }));
  expect((await gateway.post(body, { path })).status).toBe(200);
  const { messages } = sentBody(gateway) as { messages: { role: string }[] };
  return messages.find(({ role }) => role === 'assistant');
}

describe.each([false, true])('the reasoning of a call (streamed: %s)', (isStream) => {
  const ask = [{ role: 'user' as const, content: 'Read a.go' }];
  const tools = [{ name: 'read', input_schema: { type: 'object' as const, properties: {} } }];

  async function messagesTurn(gateway: TestGateway, model: string, isSigned = false): Promise<unknown> {
    const body = { model, max_tokens: 1_000, tools };
    answerFrom(gateway, isStream, isSigned);
    const client = new Anthropic({ baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 });
    const request = { ...body, messages: ask };
    const { content } = isStream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'package a' };
    const messages = [...ask, { role: 'assistant', content }, { role: 'user', content: [result] }];
    return assistantMessage(gateway, { ...body, messages }, '/v1/messages');
  }

  test('comes back from clients of messages', async () => {
    expect(await messagesTurn(await start(), MODEL)).toMatchObject({
      reasoning_content: THOUGHT,
      tool_calls: [call],
    });
  });

  test('comes back to a provider of the user, which gave it, and to none that may refuse it', async () => {
    expect(await messagesTurn(await start('mine'), 'mine/m')).toMatchObject({ reasoning_content: THOUGHT });
    expect(await messagesTurn(await start('groq'), 'groq/m')).not.toHaveProperty('reasoning_content');
  });

  test('comes back as the signature that came with the call', async () => {
    expect(await messagesTurn(await start('google'), 'google/gemini-3-pro', true)).toMatchObject({
      tool_calls: [signedCall],
    });
    expect(await responsesTurn(await start('google'), 'google/gemini-3-pro', true)).toMatchObject({
      tool_calls: [signedCall],
    });
    const unsigned = await messagesTurn(await start(), MODEL, true);
    expect((unsigned as { tool_calls: object[] }).tool_calls[0]).not.toHaveProperty('extra_content');
  });

  test('comes back from clients of responses', async () => {
    expect(await responsesTurn(await start(), MODEL)).toMatchObject({
      reasoning_content: THOUGHT,
      tool_calls: [call],
    });
  });

  async function responsesTurn(gateway: TestGateway, model: string, isSigned = false): Promise<unknown> {
    const path = '/v1/responses';
    const parameters = { type: 'object', properties: {} };
    const functions = [{ type: 'function' as const, name: 'read', parameters, strict: false }];
    const body = { model, store: false, tools: functions };
    if (!model.startsWith('google/'))
      gateway.upstream.queue(json(404, { error: { message: 'Not found', code: 'not_found' } }));
    answerFrom(gateway, isStream, isSigned);
    const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const request = { ...body, input: 'Read a.go' };
    const { output } = isStream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    const result = { type: 'function_call_output', call_id: 'call_1', output: 'package a' };
    const input = [{ role: 'user', content: 'Read a.go' }, ...output, result];
    return assistantMessage(gateway, { ...body, input }, path);
  }
});

test('a call without a signature, as of another provider, goes with the stand-in of Google', async () => {
  const gateway = await start('google');
  const use = { type: 'tool_use', id: 'call_1', name: 'read', input: {} };
  const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'package a' };
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [use] },
    { role: 'user', content: [result] },
  ];
  for (const [model, signature] of [
    ['google/gemini-3-pro', { google: { thought_signature: 'skip_thought_signature_validator' } }],
    ['google/gemini-2.5-pro', undefined],
  ] as const) {
    const sent = await assistantMessage(gateway, { model, max_tokens: 100, messages }, '/v1/messages');
    const [first] = (sent as { tool_calls: { extra_content?: object }[] }).tool_calls;
    expect(first?.extra_content).toEqual(signature);
  }
});

test('a call without reasoning, as of another provider, goes with an empty one where it is asked for', async () => {
  const gateway = await start();
  const use = { type: 'tool_use', id: 'call_1', name: 'read', input: {} };
  const signed = { type: 'thinking', thinking: 'Hm', signature: 'of Anthropic' };
  const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'package a' };
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [signed, use] },
    { role: 'user', content: [result] },
  ];
  const body = { model: MODEL, max_tokens: 100, messages };
  expect(await assistantMessage(gateway, body, '/v1/messages')).toMatchObject({ reasoning_content: '' });
});
