import { describe, expect, test } from 'vitest';
import { startBothWires } from '../wire/support/anthropic-gateway.ts';
import { directAndThroughGw, type Endpoint } from '../wire/support/direct-and-through-gw.ts';
import { provider } from '../wire/support/provider-script.ts';
import { loadSdk } from './load-sdk.ts';

interface Result {
  text: string;
  usage: object;
  steps: { toolCalls: { toolName: string; input: unknown }[] }[];
  finishReason: string;
}
interface Ai {
  generateText(options: object): Promise<Result>;
  streamText(options: object): {
    textStream: AsyncIterable<string>;
    usage: Promise<object>;
    steps: Promise<Result['steps']>;
  };
  embed(options: object): Promise<{ embedding: number[] }>;
  tool(options: object): unknown;
  jsonSchema(schema: object): unknown;
  stepCountIs(count: number): unknown;
}
type Provider = ((model: string) => unknown) & {
  chat(model: string): unknown;
  embedding(model: string): unknown;
};
interface OpenAiProvider {
  createOpenAI(endpoint: Endpoint): Provider;
}
interface AnthropicProvider {
  createAnthropic(endpoint: Endpoint): Provider;
}

const ai = await loadSdk<Ai>('ai');
const openai = await loadSdk<OpenAiProvider>('@ai-sdk/openai');
const anthropic = await loadSdk<AnthropicProvider>('@ai-sdk/anthropic');

describe('AI SDK', () => {
  const models: [string, (endpoint: Endpoint) => unknown][] = [
    ['responses', (endpoint) => openai.createOpenAI(endpoint)('test-model')],
    ['chat', (endpoint) => openai.createOpenAI(endpoint).chat('test-model')],
    ['messages', (endpoint) => anthropic.createAnthropic(endpoint)('claude-sonnet-4-6')],
  ];
  const tools = () => ({
    weather: ai.tool({
      description: 'The weather of a city',
      inputSchema: ai.jsonSchema({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      }),
      execute: async ({ city }: { city: string }) => `fine in ${city}`,
    }),
  });

  const loopOf = (model: unknown) => ({
    model,
    prompt: 'Hi',
    tools: tools(),
    stopWhen: ai.stepCountIs(3),
    maxRetries: 0,
  });

  test.each(models)('generates and streams text over %s', async (_name, model) => {
    const { result } = await directAndThroughGw(async (endpoint) => {
      const options = { model: model(endpoint), prompt: 'Hi', maxRetries: 0 };
      const { text, usage } = await ai.generateText(options);
      const stream = ai.streamText(options);
      const words: string[] = [];
      for await (const word of stream.textStream) words.push(word);
      return { text, usage, words, streamedUsage: await stream.usage };
    });
    expect(result.text).toBe('Hello you 👋');
    expect(result.words.join('')).toBe('Hello you 👋');
  });

  test.each(models)(
    'runs a tool loop with parallel calls over %s, plain and streamed',
    async (_name, model) => {
      const { result } = await directAndThroughGw(async (endpoint) => {
        const options = loopOf(model(endpoint));
        const { text, steps } = await ai.generateText(options);
        const stream = ai.streamText(options);
        for await (const _ of stream.textStream);
        const callsOf = (list?: Result['steps']) =>
          list?.map(({ toolCalls }) => toolCalls.map(({ input }) => input));
        return { text, calls: callsOf(steps), streamedCalls: callsOf(await stream.steps) };
      });
      expect(result.text).toBe('Hello you 👋');
      expect(result.calls).toEqual([[{ city: 'Bonn' }, { city: 'Ulm' }], []]);
      expect(result.streamedCalls).toEqual(result.calls);
    },
  );

  test.each([
    [
      'chat to messages',
      (endpoint: Endpoint) => openai.createOpenAI(endpoint).chat('anthropic/claude-sonnet-4-6'),
    ],
    ['messages to chat', (endpoint: Endpoint) => anthropic.createAnthropic(endpoint)('mock/test-model')],
  ])('runs a tool loop through translation, %s', async (_name, model) => {
    const gateway = await startBothWires();
    gateway.upstream.script(provider);
    const endpoint = { baseURL: gateway.url, apiKey: gateway.key };
    const options = loopOf(model(endpoint));
    const { text, steps } = await ai.generateText(options);
    const stream = ai.streamText(options);
    const words: string[] = [];
    for await (const word of stream.textStream) words.push(word);
    const callsOf = (list?: Result['steps']) =>
      list?.map(({ toolCalls }) => toolCalls.map(({ input }) => input));
    const calls = [[{ city: 'Bonn' }, { city: 'Ulm' }], []];
    expect([text, words.join('')]).toEqual(['Hello you 👋', 'Hello you 👋']);
    expect([callsOf(steps), callsOf(await stream.steps)]).toEqual([calls, calls]);
    expect(await stream.usage).toMatchObject({ inputTokens: 20, outputTokens: 5 });
    expect(await gateway.records()).toHaveLength(4);
  });

  test('embeds', async () => {
    const { result } = await directAndThroughGw(async (endpoint) => {
      const model = openai.createOpenAI(endpoint).embedding('test-model');
      return (await ai.embed({ model, value: 'text' })).embedding;
    });
    expect(result).toEqual([0.25, -1, 3]);
  });
});
