import { describe, expect, test } from 'vitest';
import { capabilitiesOf } from '../../src/pricing/capabilities.ts';

const lacksOf = (model: string) => Object.keys(capabilitiesOf(model)).sort().join(' ');

describe('capabilitiesOf()', () => {
  test.each([
    ['gpt-3.5-turbo-0125', 'jsonSchema vision'],
    ['gpt-35-turbo', 'jsonSchema vision'],
    ['ft:gpt-3.5-turbo-0125:mine::x1', 'jsonSchema vision'],
    ['gpt-4', 'jsonSchema vision'],
    ['gpt-4-0314', 'jsonSchema tools vision'],
    ['gpt-4-turbo', 'jsonSchema'],
    ['gpt-4-turbo-preview', 'jsonSchema vision'],
    ['gpt-4-1106-preview', 'jsonSchema vision'],
    ['gpt-4-vision-preview', 'jsonSchema tools'],
    ['chatgpt-4o-latest', 'jsonSchema tools'],
    ['gpt-5-chat-latest', 'tools'],
    ['openai/gpt-oss-120b', 'vision'],
    ['o1-mini', 'jsonSchema tools vision'],
    ['o3-mini-2025-01-31', 'vision'],
    ['claude-3-5-haiku-20241022', 'jsonSchema'],
    ['claude-sonnet-4-20250514', 'jsonSchema'],
    ['claude-opus-4-0', 'jsonSchema'],
    ['deepseek-chat', 'jsonSchema vision'],
    ['deepseek-flash', 'jsonSchema'],
    ['deepseek/deepseek-r1:free', 'vision'],
    ['llama-3.3-70b-versatile', 'vision'],
    ['meta-llama/Meta-Llama-3.1-8B-Instruct', 'vision'],
    ['llama3.1:8b', 'vision'],
    ['llama3', 'vision'],
    ['llama3.2:3b', 'vision'],
    ['mistralai/Mixtral-8x7B-Instruct-v0.1', 'vision'],
    ['ministral-8b-2410', 'vision'],
    ['grok-3-mini', 'vision'],
    ['moonshotai/kimi-k2-0905-preview', 'vision'],
    ['moonshotai/kimi-k2', 'vision'],
    ['z-ai/glm-4.6', 'vision'],
    ['qwen/qwen3-coder', 'vision'],
    ['qwen2.5:7b', 'vision'],
    ['phi-4', 'vision'],
    ['command-r-plus', 'vision'],
  ])('of %s: %s', (model, lacks) => {
    expect(lacksOf(model)).toBe(lacks);
  });

  test.each([
    ...[
      'gpt-4o',
      'gpt-4o-2024-08-06',
      'gpt-4.1-mini',
      'gpt-5',
      'gpt-5-mini',
      'gpt-5.4',
      'gpt-5.1-chat-latest',
      'gpt-6-sol',
    ],
    ...[
      'o1',
      'o3',
      'o4-mini',
      'claude-opus-4-1',
      'claude-sonnet-4-5-20250929',
      'claude-haiku-4-5',
      'claude-opus-5',
    ],
    ...[
      'gemini-2.5-pro',
      'gemini-3-pro-preview',
      'gemini-pro-latest',
      'grok-4',
      'grok-4-fast',
      'grok-2-vision-1212',
    ],
    ...[
      'ministral-8b-2512',
      'ministral-8b-latest',
      'mistral-large-2512',
      'mistral-small-latest',
      'pixtral-large-latest',
    ],
    ...[
      'llama-4-scout',
      'llama-3.2-90b-vision-instruct',
      'llama3.2-vision',
      'qwen2.5-vl-72b',
      'qwen3.5-plus',
      'qwen3-omni',
    ],
    ...[
      'kimi-k2.5',
      'kimi-k3',
      'glm-4.5v',
      'glm-4.6v',
      'phi-4-multimodal-instruct',
      'gemma-3-27b-it',
      'gemma3:4b',
    ],
    ...['', 'my-model', 'gpt-99', 'something/new:latest', 'x'.repeat(10_000)],
  ])('holds nothing against %s', (model) => {
    expect(lacksOf(model)).toBe('');
  });
});
