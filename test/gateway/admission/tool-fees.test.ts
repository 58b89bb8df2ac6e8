import { expect, test } from 'vitest';
import { toolsFor } from '../../../src/gateway/admission/tool-fees.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import type { ServerTools } from '../../../src/wire/request/server-tools.ts';

const request = (serverTools?: ServerTools) => ({
  serverTools,
  nonText: { images: 0, context: false },
  bytes: Buffer.from('{}'),
});
const at = (name: string, model: string) => ({ provider: { name }, model }) as Target;

test.each([
  ['openrouter', 'openai/gpt-5.4', []],
  ['openrouter', '@preset/mine', ['preset']],
  ['openrouter', 'openai/gpt-5.4@preset/mine', ['preset']],
  ['openrouter', 'openai/gpt-5.4:online', ['online']],
  // Another provider's model may be named so.
  ['mine', '@preset/mine', []],
  ['openai', 'gpt-5-search-api', ['chat_search']],
  ['openai', 'gpt-4o-search-preview-2025-03-11', ['chat_search']],
  ['perplexity', 'sonar-deep-research', ['deep_research']],
  ['groq', 'compound-mini', ['compound']],
])('the model brings its tools at %s: %s', (provider, model, names) => {
  const tools = toolsFor(request(), at(provider, model));
  expect(tools?.tools.map(({ name }) => name) ?? []).toEqual(names);
});
