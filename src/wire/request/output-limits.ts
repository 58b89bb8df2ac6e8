import { isObject } from '../../json/object.ts';
import type { Fields } from './fields.ts';

/** Fields that limit the output of a chat completion. Some providers support only one of them. */
export const LIMITS: readonly string[] = ['max_tokens', 'max_completion_tokens'];

/** Output tokens that may be billed beyond the limit. */
export function beyondLimit(fields: Fields): number | undefined {
  return predictionBound(fields) + reasoningBeyondLimit(fields, LIMITS) || undefined;
}

/**
 * Upper bound of the tokens of a predicted output, which are billed even if the response differs: its length in bytes,
 * because every token has at least one byte.
 */
function predictionBound(fields: Fields): number {
  const member = fields.find('prediction');
  return member && fields.firstByte('prediction') !== undefined ? member.end - member.start : 0;
}

const MAX_CHOICES = 128;

/** Number of billed choices. `best_of` are generated, `n` of them returned. Some providers support both in chats. */
export function choicesPerPrompt(fields: Fields): number {
  return Math.max(fields.integer('n', 1, MAX_CHOICES) ?? 1, fields.integer('best_of', 1, MAX_CHOICES) ?? 1);
}

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
