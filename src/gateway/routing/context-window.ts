import { modelLimits } from '../../pricing/limits.ts';

/** The makers of models, by the model's name. */
const MAKERS: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|chatgpt-|o\d)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'google'],
  [/^deepseek-/, 'deepseek'],
  [/^grok-/, 'xai'],
];

/**
 * The context window of a model in tokens, if it is known. At a provider that the user added, such as a second region,
 * a model is recognized by its maker's name for it; that is enough to choose a target, but not to bound a cost.
 */
export function contextWindowOf(provider: string, model: string): number | undefined {
  const contextTokens = modelLimits(provider, model)?.contextTokens;
  if (contextTokens !== undefined) return contextTokens;
  const maker = MAKERS.find(([pattern]) => pattern.test(model))?.[1];
  return maker === undefined ? undefined : modelLimits(maker, model)?.contextTokens;
}
