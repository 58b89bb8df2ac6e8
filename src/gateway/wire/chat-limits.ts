import { isObject } from './events.ts';
import type { Fields } from './fields.ts';

/** The fields that limit the output of a chat; some providers know the one, some the other. */
export const LIMITS: readonly string[] = ['max_tokens', 'max_completion_tokens'];

/** Output that a chat may be billed for beyond its limit. */
export function beyondLimit(fields: Fields): number | undefined {
  return predicted(fields) + thoughtsBeyond(fields) || undefined;
}

/** What was predicted of an answer that comes otherwise, in bytes, as no token is shorter than one. */
function predicted(fields: Fields): number {
  const member = fields.find('prediction');
  return member && fields.read('prediction') !== undefined ? member.end - member.start : 0;
}

/** The least that OpenRouter lets a model think that is to think at all. */
const LEAST_THOUGHTS = 1_024;
/** More than any model thinks. */
const MOST_THOUGHTS = 100_000_000;

/** Thoughts that have a larger limit of their own: a host may go by that one. */
function thoughtsBeyond(fields: Fields): number {
  const most = thoughts(fields);
  const limits = LIMITS.map((key) => fields.read(key)).filter((limit) => typeof limit === 'number');
  return limits.length > 0 && most > Math.max(...limits) ? most : 0;
}

/** What a chat lets the model think, in tokens. */
export function thoughts(fields: Fields): number {
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
