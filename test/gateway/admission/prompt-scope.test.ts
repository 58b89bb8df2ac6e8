import { expect, test } from 'vitest';
import { isChangingName } from '../../../src/gateway/admission/prompt-scope.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';

test.each([
  ['openai', 'https://api.openai.com', 'gpt-5.4', false],
  ['openai', 'https://api.openai.com', 'gpt-4o-search-preview', true],
  ['groq', 'https://api.groq.com', 'compound-mini', true],
  ['perplexity', 'https://api.perplexity.ai', 'sonar', true],
  ['azure', 'https://r.example', 'model-router', true],
  ['openrouter', 'https://openrouter.ai', 'openai/gpt-5.4', true],
  ['mine', 'https://router.huggingface.co', 'gpt-oss-120b', true],
])('a count at %s, %s, for %s stands for other hosts or models: %s', (name, origin, model, isChanging) => {
  expect(isChangingName({ provider: { name, origin }, model } as Target)).toBe(isChanging);
});
