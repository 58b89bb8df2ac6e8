import { describe, expect, it } from 'vitest';
import { encodingOf } from '../../src/tokens/encoding.ts';

describe('encodingOf()', () => {
  it.each([
    ...['gpt-4o', 'gpt-4o-mini-2024-07-18', 'chatgpt-4o-latest', 'gpt-4.1-nano', 'gpt-4.5-preview'],
    ...['gpt-5', 'gpt-5-mini', 'gpt-5.1', 'gpt-5.2-codex', 'gpt-5-chat-latest', 'codex-mini-latest'],
    ...['o1', 'o1-preview', 'o3-mini', 'o3-deep-research', 'o4-mini-2025-04-16'],
    ...[
      'gpt-oss:20b',
      'openai/gpt-oss-120b',
      'openai.gpt-oss-20b-1:0',
      'accounts/fireworks/models/gpt-oss-20b',
    ],
    ...['openai/gpt-4o', 'GPT-4o', 'ft:gpt-4o-mini-2024-07-18:org::id'],
  ])('knows that %s uses o200k_base', (model) => {
    expect(encodingOf(model)).toBe('o200k_base');
  });

  it.each([
    ...[
      'gpt-4',
      'gpt-4-0613',
      'gpt-4-32k-0314',
      'gpt-4-turbo',
      'gpt-4-turbo-2024-04-09',
      'gpt-4-1106-preview',
    ],
    ...[
      'gpt-4-vision-preview',
      'gpt-3.5-turbo',
      'gpt-3.5-turbo-16k',
      'gpt-35-turbo',
      'ft:gpt-3.5-turbo-0125:org::id',
    ],
    ...['text-embedding-3-small', 'text-embedding-3-large', 'text-embedding-ada-002'],
  ])('knows that %s uses cl100k_base', (model) => {
    expect(encodingOf(model)).toBe('cl100k_base');
  });

  it.each([
    ...[
      'claude-sonnet-4-5',
      'gemini-2.5-pro',
      'llama-3.3-70b',
      'mistral-large',
      'deepseek-r1',
      'sandbox/echo',
      '',
    ],
    ...[
      'gpt-2',
      'text-davinci-003',
      'gpt-6',
      'gpt-45',
      'gpt-4-x-alpaca',
      'gpt4all',
      'gpt-50',
      'o10',
      'o1x',
      'Marco-o1',
    ],
  ])('does not guess for %j', (model) => {
    expect(encodingOf(model)).toBeUndefined();
  });
});
