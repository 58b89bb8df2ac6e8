import { describe, expect, test } from 'vitest';
import { directAndThroughGw, type Endpoint } from '../wire/support/direct-and-through-gw.ts';
import { loadSdk } from './load-sdk.ts';

interface Result {
  finalOutput?: unknown;
  toTextStream(): AsyncIterable<string>;
  completed: Promise<void>;
}
interface Agents {
  Agent: new (options: object) => unknown;
  Runner: new (options: object) => { run(agent: unknown, input: string, options?: object): Promise<Result> };
  OpenAIProvider: new (options: object) => unknown;
  tool(options: object): unknown;
  setTracingDisabled(disabled: boolean): void;
}

const agents = await loadSdk<Agents>('@openai/agents');

describe('OpenAI Agents', () => {
  agents.setTracingDisabled(true);

  function setUp({ baseURL, apiKey }: Endpoint, useResponses: boolean) {
    const cities: string[] = [];
    const weather = agents.tool({
      name: 'weather',
      description: 'The weather of a city',
      strict: false,
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: [],
        additionalProperties: true,
      },
      execute: async ({ city }: { city: string }) => {
        cities.push(city);
        return `fine in ${city}`;
      },
    });
    const agent = new agents.Agent({
      name: 'a',
      instructions: 'Be brief',
      model: 'test-model',
      tools: [weather],
    });
    const modelProvider = new agents.OpenAIProvider({ baseURL, apiKey, useResponses });
    return { agent, cities, runner: new agents.Runner({ modelProvider }) };
  }

  test.each([[true], [false]])(
    'runs a tool loop, plain and streamed (responses: %s)',
    async (useResponses) => {
      const { result } = await directAndThroughGw(async (endpoint) => {
        const plain = setUp(endpoint, useResponses);
        const { finalOutput } = await plain.runner.run(plain.agent, 'Hi');
        const streamed = setUp(endpoint, useResponses);
        const stream = await streamed.runner.run(streamed.agent, 'Hi', { stream: true });
        const words: string[] = [];
        for await (const word of stream.toTextStream()) words.push(word);
        await stream.completed;
        return { finalOutput, cities: plain.cities, words, streamedCities: streamed.cities };
      });
      expect(result).toEqual({
        finalOutput: 'Hello you 👋',
        cities: ['Bonn', 'Ulm'],
        words: ['Hello', ' you', ' 👋'],
        streamedCities: ['Bonn', 'Ulm'],
      });
    },
  );
});
