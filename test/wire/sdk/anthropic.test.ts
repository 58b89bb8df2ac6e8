import { describe, expect, test } from 'vitest';
import type { TestGateway } from '../../support/gateway.ts';
import { json, type Script } from '../../support/scripts.ts';
import { startBothWires } from '../support/anthropic-gateway.ts';
import { either } from '../support/event-scripts.ts';
import { loadSdk } from '../support/load-sdk.ts';
import {
  anthropicError,
  messageBody,
  messageStream,
  messageUsage,
  text,
  toolUse,
} from '../support/messages-shapes.ts';

interface Message {
  content: Record<string, unknown>[];
  stop_reason: string | null;
  usage: Record<string, unknown>;
}
interface Messages {
  create(body: object, options?: object): Promise<Message>;
  stream(
    body: object,
    options?: object,
  ): { finalMessage(): Promise<Message>; abort(): void; on(event: string, run: () => void): void };
  countTokens(body: object): Promise<{ input_tokens: number }>;
}
interface Client {
  messages: Messages;
  beta: { messages: Messages };
}
interface Sdk {
  default: new (options: object) => Client;
  APIError: new () => Error;
}

/** A model that the SDK has no deprecation warning for. */
const CLAUDE = 'claude-sonnet-4-6';
const sdk = await loadSdk<Sdk>('@anthropic-ai/sdk');

describe.skipIf(!sdk)('@anthropic-ai/sdk', () => {
  const connect = (baseURL: string, apiKey: string, rest: object = {}) => {
    if (!sdk) throw new Error('it is not installed');
    return new sdk.default({ baseURL, apiKey, maxRetries: 2, ...rest });
  };
  const BODY = { model: CLAUDE, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
  const TOOLS = [{ name: 'weather', input_schema: { type: 'object' } }];

  /** The result of a client at the provider itself and through gw. */
  async function both<T>(
    script: Script,
    run: (client: Client) => Promise<T>,
  ): Promise<{ direct: T; through: T; gateway: TestGateway }> {
    const gateway = await startBothWires();
    gateway.upstream.script(script);
    const direct = await run(connect(gateway.upstream.url.replace('/v1', ''), 'sk-ant-direct'));
    const sent = gateway.upstream.requests.map(({ path, body }) => path + body);
    const through = await run(connect(gateway.origin, gateway.key));
    expect(gateway.upstream.requests.slice(sent.length).map(({ path, body }) => path + body)).toEqual(sent);
    return { direct, through, gateway };
  }

  test('plain and streamed messages equal those of the provider', async () => {
    const content = [{ type: 'thinking', thinking: 'Let me see', signature: 'c2ln' }, text('Hello you 👋')];
    const usage = messageUsage(20, 5, { cache_read_input_tokens: 7 });
    const script = either(messageBody(content, { usage }), messageStream(content, { startUsage: usage }));
    const { direct, through, gateway } = await both(script, async (client) => ({
      plain: await client.messages.create(BODY),
      streamed: await client.messages.stream(BODY).finalMessage(),
      beta: await client.beta.messages.create({ ...BODY, betas: ['context-management-2025-06-27'] }),
    }));
    expect(through).toEqual(direct);
    expect(through.streamed.content).toEqual(content);
    expect(await gateway.records()).toHaveLength(3);
  });

  test('a tool loop of two turns with parallel calls', async () => {
    const calls = [toolUse('toolu_1', 'weather', { city: 'Bonn' }), toolUse('toolu_2', 'weather', {})];
    const script: Script = async (exchange) => {
      const { messages } = JSON.parse((await exchange.body).toString());
      const isFirst = messages.length === 1;
      const content = isFirst ? calls : [text('Fine')];
      const stop_reason = isFirst ? 'tool_use' : 'end_turn';
      await either(
        messageBody(content, { stop_reason }),
        messageStream(content, { stopReason: stop_reason }),
      )(exchange);
    };
    const { direct, through } = await both(script, async (client) => {
      const first = await client.messages.stream({ ...BODY, tools: TOOLS }).finalMessage();
      const results = first.content.map(({ id }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: 'fine',
      }));
      const messages = [
        ...BODY.messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ];
      return [first, await client.messages.create({ ...BODY, tools: TOOLS, messages })];
    });
    expect(through).toEqual(direct);
    expect(through[0]?.content).toEqual(calls);
  });

  test('errors have the same class and format and are retried as often', async () => {
    for (const [code, type] of [
      [400, 'invalid_request_error'],
      [529, 'overloaded_error'],
    ] as const) {
      const { direct, through } = await both(json(code, anthropicError(type, 'No')), async (client) => {
        const error = await client.messages
          .create(BODY, { timeout: 20_000 })
          .catch((thrown: unknown) => thrown);
        const { status, error: body, name } = error as { status: number; error: object; name: string };
        return { status, body, name };
      });
      expect(through).toEqual(direct);
    }
  }, 30_000);

  test('an exhausted budget is one clear error without retries', async () => {
    const gateway = await startBothWires({ budget: { capUsd: 0, period: 'daily' } });
    const client = connect(gateway.url, gateway.key);
    await expect(client.messages.create(BODY)).rejects.toMatchObject({
      status: 402,
      message: expect.stringContaining('gw budget set'),
    });
    await expect(client.messages.stream(BODY).finalMessage()).rejects.toMatchObject({ status: 402 });
    expect((await gateway.records()).map(({ outcome }) => outcome)).toEqual(['blocked', 'blocked']);
  });

  test('accepts a bearer token, as newer versions send it, and counts tokens', async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(json(200, { input_tokens: 14 }));
    const client = connect(gateway.url, 'unused', { apiKey: null, authToken: gateway.key });
    expect(await client.messages.countTokens({ model: CLAUDE, messages: BODY.messages })).toMatchObject({
      input_tokens: 14,
    });
  });

  test("a model behind OpenAI's API answers with tool calls in Anthropic's format", async () => {
    const gateway = await startBothWires();
    const { chunkBody, completionBody, usageOf } = await import('../../support/chat-shapes.ts');
    const usage = usageOf(30, 7, 10);
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Bonn"}' },
    };
    const finish = { finish_reason: 'tool_calls' };
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    gateway.upstream.script(
      either(completionBody('test-model', '', usage, { message, ...finish }), [
        ['', chunkBody('test-model', { delta: { role: 'assistant', tool_calls: [{ index: 0, ...call }] } })],
        ['', chunkBody('test-model', finish)],
        ['', chunkBody('test-model', undefined, { usage })],
        ['', '[DONE]'],
      ]),
    );
    const client = connect(gateway.origin, gateway.key);
    const body = { ...BODY, model: 'mock/test-model', tools: TOOLS };
    const plain = await client.messages.create(body);
    const streamed = await client.messages.stream(body).finalMessage();
    expect(plain.content).toEqual([toolUse('call_1', 'weather', { city: 'Bonn' })]);
    expect(streamed.content).toEqual(plain.content);
    for (const each of [plain, streamed]) {
      expect(each.stop_reason).toBe('tool_use');
      expect(each.usage).toMatchObject({ input_tokens: 20, cache_read_input_tokens: 10, output_tokens: 7 });
    }
  });

  test('handles fifty concurrent requests', async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(either(messageBody([text('Hello')]), messageStream([text('Hello')])));
    const client = connect(gateway.origin, gateway.key);
    const all = await Promise.all(
      Array.from({ length: 50 }, () => client.messages.stream(BODY).finalMessage()),
    );
    expect(all.every(({ content }) => content[0]?.text === 'Hello')).toBe(true);
    expect(await gateway.records()).toHaveLength(50);
  });

  test('an abort closes the upstream call', async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      const [start] = messageStream([text('Hello')]);
      if (start) await exchange.chunk(`event: ${start[0]}\ndata: ${JSON.stringify(start[1])}\n\n`);
      await exchange.untilGone();
    });
    const stream = connect(gateway.origin, gateway.key).messages.stream(BODY);
    const request = await gateway.upstream.nextRequest();
    const ended = stream.finalMessage().catch((error: unknown) => error);
    const abortedAt = performance.now();
    stream.abort();
    await ended;
    await request.done;
    expect((request.hungUp?.monotonicMs ?? Infinity) - abortedAt).toBeLessThan(10_000);
  });
});
