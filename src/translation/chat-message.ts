import { isObject } from '../json/object.ts';
import type { Json } from './json.ts';

/** What a model thought, by the names that providers give it. */
export function reasoningOf({ reasoning_content, reasoning }: Json): string {
  if (typeof reasoning_content === 'string') return reasoning_content;
  return typeof reasoning === 'string' ? reasoning : '';
}

/** A message's text, which some providers give in parts. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

/**
 * Whether a piece of a streamed call begins another one than the piece before at its index: some providers give every
 * call the same index, and a new id with a name tells them apart.
 */
export function beginsCall({ id, function: called }: Json, before: unknown): boolean {
  const name = isObject(called) ? called.name : undefined;
  return typeof id === 'string' && id !== '' && id !== before && typeof name === 'string' && name !== '';
}
