import { describe, expect, test } from 'vitest';
import { directAndThroughGw } from '../wire/support/direct-and-through-gw.ts';
import { loadSdk } from './load-sdk.ts';

interface Llm {
  chat(options: object): Promise<{ message: { content: unknown } } & AsyncIterable<{ delta: string }>>;
}
interface LlamaIndex {
  OpenAI: new (options: object) => Llm;
  OpenAIEmbedding: new (options: object) => { getTextEmbedding(text: string): Promise<number[]> };
}

const llamaindex = await loadSdk<LlamaIndex>('@llamaindex/openai');

describe('LlamaIndex', () => {
  test('chats, streams and embeds', async () => {
    const { result } = await directAndThroughGw(async ({ baseURL, apiKey }) => {
      const llm = new llamaindex.OpenAI({ model: 'test-model', apiKey, baseURL });
      const messages = [{ role: 'user', content: 'Hi' }];
      const { message } = await llm.chat({ messages });
      const words: string[] = [];
      for await (const { delta } of await llm.chat({ messages, stream: true })) words.push(delta);
      const embedding = new llamaindex.OpenAIEmbedding({ model: 'test-model', apiKey, baseURL });
      return { content: message.content, words, numbers: await embedding.getTextEmbedding('text') };
    });
    expect(result.content).toBe('Hello you 👋');
    expect(result.words.join('')).toBe('Hello you 👋');
    expect(result.numbers).toEqual([0.25, -1, 3]);
  });
});
