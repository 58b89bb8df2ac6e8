import type { Fields } from './fields.ts';
import { reasoningBeyondLimit } from './reasoning-budget.ts';

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
