import { describe, expect, test } from 'vitest';
import { startBothWires } from '../wire/support/anthropic-gateway.ts';
import { directAndThroughGw, type Endpoint } from '../wire/support/direct-and-through-gw.ts';
import { provider } from '../wire/support/provider-script.ts';
import { loadSdk } from './load-sdk.ts';

interface Answer {
  content: unknown;
  tool_calls?: { name: string; args: unknown; id?: string }[];
  usage_metadata?: object;
}
interface Model {
  invoke(messages: unknown): Promise<Answer>;
  stream(messages: unknown): Promise<AsyncIterable<Answer & { concat(other: unknown): unknown }>>;
  bindTools(tools: object[]): Model;
}
interface LangChain {
  ChatOpenAI: new (options: object) => Model;
  OpenAIEmbeddings: new (options: object) => { embedDocuments(texts: string[]): Promise<number[][]> };
}

const langchain = await loadSdk<LangChain>('@langchain/openai');

describe('LangChain', () => {
  function model({ baseURL, apiKey }: Endpoint, rest: object = {}): Model {
    return new langchain.ChatOpenAI({
      model: 'test-model',
      apiKey,
      configuration: { baseURL },
      maxRetries: 0,
      ...rest,
    });
  }
  const tool = {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  };

  test.each([[false], [true]])('invokes and streams (responses: %s)', async (useResponsesApi) => {
    const { result } = await directAndThroughGw(async (endpoint) => {
      const chat = model(endpoint, { useResponsesApi });
      const { content, usage_metadata } = await chat.invoke('Hi');
      const words: unknown[] = [];
      for await (const chunk of await chat.stream('Hi')) words.push(chunk.content);
      return { content, usage_metadata, words };
    });
    expect(JSON.stringify(result.content)).toContain('Hello you 👋');
    expect(result.words.length).toBeGreaterThan(2);
  });

  test('runs a tool loop of two turns with parallel calls', async () => {
    const { result } = await directAndThroughGw(async (endpoint) => {
      const chat = model(endpoint).bindTools([tool]);
      const user = { role: 'user', content: 'Hi' };
      const first = await chat.invoke([user]);
      const results = (first.tool_calls ?? []).map(({ id }) => ({
        role: 'tool',
        tool_call_id: id,
        content: 'fine',
      }));
      const second = await chat.invoke([user, first, ...results]);
      return { calls: first.tool_calls?.map(({ args }) => args), text: second.content };
    });
    expect(result).toEqual({ calls: [{ city: 'Bonn' }, { city: 'Ulm' }], text: 'Hello you 👋' });
  });

  test('runs a tool loop with a model of Anthropic', async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(provider);
    const endpoint = { baseURL: gateway.url, apiKey: gateway.key };
    const chat = model(endpoint, { model: 'anthropic/claude-sonnet-4-6' }).bindTools([tool]);
    const user = { role: 'user', content: 'Hi' };
    const first = await chat.invoke([{ role: 'system', content: 'Be brief' }, user]);
    const results = (first.tool_calls ?? []).map(({ id }) => ({
      role: 'tool',
      tool_call_id: id,
      content: 'fine',
    }));
    const second = await chat.invoke([user, first, ...results]);
    expect(first.tool_calls?.map(({ args }) => args)).toEqual([{ city: 'Bonn' }, { city: 'Ulm' }]);
    expect(second.content).toBe('Hello you 👋');
  });

  test('embeds', async () => {
    const { result } = await directAndThroughGw(async ({ baseURL, apiKey }) => {
      const embeddings = new langchain.OpenAIEmbeddings({
        model: 'test-model',
        apiKey,
        configuration: { baseURL },
      });
      return embeddings.embedDocuments(['a', 'b']);
    });
    expect(result).toEqual([
      [0.25, -1, 3],
      [0.25, -1, 3],
    ]);
  });
});
