import { modelLimits } from '../../pricing/limits.ts';

/** Whose models they are, by how they are called. */
const MAKERS: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|chatgpt-|o\d)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'google'],
  [/^deepseek-/, 'deepseek'],
  [/^grok-/, 'xai'],
];

/**
 * How much a model reads and writes at most, as far as is known. At a provider that the user named, such as a second
 * region, a model that is called as its maker calls it is taken to be that one: to choose by, not to count by.
 */
export function contextWindowOf(provider: string, model: string): number | undefined {
  const known = modelLimits(provider, model)?.contextTokens;
  if (known !== undefined) return known;
  const maker = MAKERS.find(([pattern]) => pattern.test(model))?.[1];
  return maker === undefined ? undefined : modelLimits(maker, model)?.contextTokens;
}
