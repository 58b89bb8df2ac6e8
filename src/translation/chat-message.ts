import { isObject } from '../json/object.ts';
import type { Json } from './json.ts';

/** The reasoning of a message: providers use two names for the field. */
export function reasoningOf({ reasoning_content, reasoning }: Json): string {
  if (typeof reasoning_content === 'string') return reasoning_content;
  return typeof reasoning === 'string' ? reasoning : '';
}

/** The text of a message, which some providers send in parts. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

/**
 * Whether a piece of a streamed call starts a new call, although the call `currentId` has the same index. Some
 * providers give all calls one index, but a new call has a new id and a name.
 */
export function beginsCall({ id, function: call }: Json, currentId: unknown): boolean {
  const name = isObject(call) ? call.name : undefined;
  return typeof id === 'string' && id !== '' && id !== currentId && typeof name === 'string' && name !== '';
}
