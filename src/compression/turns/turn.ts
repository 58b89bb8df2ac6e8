import { isObject } from '../../json/object.ts';
import type { Message } from '../prompt/message.ts';

/** The way to a value from the array that is the conversation: indexes and keys. */
export type Place = readonly (number | string)[];

/** A turn as the transforms read it, whatever the form, and where each of its texts stands in the request. */
export interface Turn {
  message: Message;
  places: Place[];
}

/** A turn of the texts that `part` finds in a content, whether a string or a list of parts. */
export function turnOf(
  content: unknown,
  place: Place,
  { isText, about }: { isText: (type: unknown) => boolean; about: Record<string, unknown> },
): Turn {
  if (typeof content === 'string') return { message: { ...about, content }, places: [place] };
  const parts: { type: 'text'; text: string }[] = [];
  const places: Place[] = [];
  for (const [index, part] of (Array.isArray(content) ? content : []).entries()) {
    const { type, text } = objectOf(part);
    if (!isText(type) || typeof text !== 'string') continue;
    parts.push({ type: 'text', text });
    places.push([...place, index, 'text']);
  }
  return { message: { ...about, content: parts }, places };
}

/** The value's fields; none where it is no object. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** A tool call as chat completions write it. */
export function callOf(id: unknown, name: unknown, args: unknown): Record<string, unknown> {
  return { id, function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) } };
}
