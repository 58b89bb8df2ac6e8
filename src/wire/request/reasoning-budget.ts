import { isObject } from '../../json/object.ts';
import type { Fields } from './fields.ts';

/** The least that OpenRouter lets a model think that is to think at all. */
const LEAST_THOUGHTS = 1_024;
/** More than any model thinks. */
const MOST_THOUGHTS = 100_000_000;

/**
 * What a request lets the model think, in tokens. OpenRouter takes `reasoning` with a limit in chats and responses
 * (https://openrouter.ai/docs/use-cases/reasoning-tokens), other hosts Anthropic's `thinking` in chats.
 */
export function reasoningBudget(fields: Fields): number {
  const reasoning = fields.read('reasoning');
  const thinking = fields.read('thinking');
  if (reasoning === undefined && thinking === undefined) return 0;
  const most = Math.max(
    isObject(reasoning) ? LEAST_THOUGHTS : 0,
    isObject(reasoning) ? Number(reasoning.max_tokens) || 0 : 0,
    isObject(thinking) ? Number(thinking.budget_tokens) || 0 : 0,
  );
  return Math.min(Math.ceil(most), MOST_THOUGHTS);
}

/** Thoughts that have a larger limit of their own: a host may go by that one. */
export function reasoningBeyondLimit(fields: Fields, limits: readonly string[]): number {
  const most = reasoningBudget(fields);
  const written = limits.map((key) => fields.read(key)).filter((limit) => typeof limit === 'number');
  return written.length > 0 && most > Math.max(...written) ? most : 0;
}
