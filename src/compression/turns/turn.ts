import type { Edit } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import type { Message } from '../prompt/message.ts';

/** Path from an item of the conversation to a value: indexes and keys. */
export type Place = readonly (number | string)[];

/** A turn in the form that transforms read, and the path of each of its texts in its item. */
export interface Turn {
  message: Message;
  places: Place[];
  /** What it was compressed to, and the edits of its item that make it so. */
  rewritten?: { output: Message; edits: readonly Edit[] };
}

/** Makes a turn from content that is a string or a list of parts; `isText` selects the parts by type. */
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

/** The value as an object; empty if it is none. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** A tool call in the chat completions format. */
export function callOf(id: unknown, name: unknown, args: unknown): Record<string, unknown> {
  return { id, function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) } };
}
