import { expect, test } from 'vitest';
import { buildRegistry } from '../../src/providers/registry.ts';

test.each<[string, string | undefined, boolean]>([
  ['openai', undefined, true],
  ['openai', 'https://eu.api.openai.com/v1', true],
  ['openai', 'https://proxy.example/v1', false],
  ['openai', 'https://api.openai.com.example/v1', false],
  ['openai', 'https://myapi.openai.com/v1', false],
  ['openai', 'http://127.0.0.1:4000/v1', false],
  ['anthropic', undefined, true],
  ['anthropic', 'https://bedrock-runtime.us-east-1.amazonaws.com', false],
  ['azure', 'https://mine.openai.azure.com/openai/v1', true],
  ['azure', 'https://mine.services.ai.azure.com/openai/v1', false],
  ['xai', undefined, true],
  ['deepseek', undefined, true],
  ['fireworks', undefined, true],
  ['together', undefined, true],
  ['google', undefined, false],
  ['groq', undefined, false],
  ['mistral', undefined, false],
  ['openrouter', undefined, false],
  ['cohere', undefined, false],
  ['ollama', undefined, false],
  ['mine', 'https://api.openai.com/v1', true],
  ['mine', 'https://api.openai.com.example/v1', false],
])('%s at %s stops when a client hangs up: %s', (name, baseUrl, expected) => {
  const configured = { [name]: baseUrl === undefined ? {} : { baseUrl } };
  const { providers } = buildRegistry({ configured, credentials: { [name]: 'key' }, env: {} });
  expect(providers.get(name)?.stopsOnHangUp).toBe(expected);
});

test.each<[string, string | undefined, string]>([
  ['https://a.example/v1', undefined, '/v1'],
  ['https://a.example/v1/', undefined, '/v1'],
  ['https://a.example/v1/chat/completions', undefined, '/v1'],
  ['https://a.example/v1/responses/', undefined, '/v1'],
  ['https://a.example/api/completions', undefined, '/api'],
  ['https://a.example/v1/messages', 'anthropic', '/v1'],
  ['https://a.example', 'anthropic', '/v1'],
])('the base URL %s (%s) has the path %s', (baseUrl, wire, basePath) => {
  const configured = { mine: { baseUrl, ...(wire === 'anthropic' && { wire: 'anthropic' as const }) } };
  const { providers } = buildRegistry({ configured, credentials: {}, env: {} });
  expect(providers.get('mine')?.basePath).toBe(basePath);
});
