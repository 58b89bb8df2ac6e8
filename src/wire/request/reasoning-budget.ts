import { isObject } from '../../json/object.ts';
import type { Fields } from './fields.ts';

/** The smallest reasoning budget at OpenRouter. */
const MIN_REASONING_TOKENS = 1_024;
/** More than any model generates. */
const MAX_REASONING_TOKENS = 100_000_000;

/**
 * The request's limit of reasoning tokens. OpenRouter accepts `reasoning` with a limit
 * (https://openrouter.ai/docs/use-cases/reasoning-tokens), other hosts accept Anthropic's `thinking`.
 */
export function reasoningBudget(fields: Fields): number {
  const reasoning = fields.read('reasoning');
  const thinking = fields.read('thinking');
  if (reasoning === undefined && thinking === undefined) return 0;
  const budget = Math.max(
    isObject(reasoning) ? MIN_REASONING_TOKENS : 0,
    isObject(reasoning) ? tokensIn(reasoning.max_tokens) : 0,
    isObject(thinking) ? tokensIn(thinking.budget_tokens) : 0,
  );
  return Math.min(Math.ceil(budget), MAX_REASONING_TOKENS);
}

/** A number, or a string with one. Other types count as 0: `Number` throws for an object such as `{"toString": 1}`. */
function tokensIn(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) || 0 : 0;
}

/** The reasoning budget if it exceeds the output limit, otherwise 0. Some hosts apply it instead of that limit. */
export function reasoningBeyondLimit(fields: Fields, limits: readonly string[]): number {
  const budget = reasoningBudget(fields);
  const values = limits.map((key) => fields.read(key)).filter((limit) => typeof limit === 'number');
  return values.length > 0 && budget > Math.max(...values) ? budget : 0;
}
