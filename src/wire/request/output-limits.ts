import type { Fields } from './fields.ts';
import { reasoningBeyondLimit } from './reasoning-budget.ts';

/** The fields that limit the output of a chat; some providers know the one, some the other. */
export const LIMITS: readonly string[] = ['max_tokens', 'max_completion_tokens'];

/** Output that a chat may be billed for beyond its limit. */
export function beyondLimit(fields: Fields): number | undefined {
  return predicted(fields) + reasoningBeyondLimit(fields, LIMITS) || undefined;
}

/** What was predicted of an answer that comes otherwise, in bytes, as no token is shorter than one. */
function predicted(fields: Fields): number {
  const member = fields.find('prediction');
  return member && fields.read('prediction') !== undefined ? member.end - member.start : 0;
}
