import { isObject } from '../json/object.ts';
import { dataIn, parseObject } from '../wire/answer/events.ts';
import type { Json } from './json.ts';

/** The reasoning of a message. Providers use two names for the field. */
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
 * Whether a streamed tool call delta starts a new call although the call `currentId` has the same index. Some providers
 * give all calls one index, but a new call has a new id and a name.
 */
export function beginsCall({ id, function: call }: Json, currentId: unknown): boolean {
  const name = isObject(call) ? call.name : undefined;
  return typeof id === 'string' && id !== '' && id !== currentId && typeof name === 'string' && name !== '';
}

/** The arguments of a call, or a piece of them; some hosts send the object itself instead of its JSON. */
export function argumentsIn(call: unknown): string {
  const args = isObject(call) ? call.arguments : undefined;
  if (isObject(args)) return JSON.stringify(args);
  return typeof args === 'string' ? args : '';
}

/** Translates the chunks of one chat completion stream into events of another API. */
export interface ChunkTranslator<Event> {
  add(chunk: Json): Event[];
  /** The closing events, only once; none if the stream had neither a finish reason nor an end, `[DONE]`. */
  end(isDone?: boolean): Event[];
}

/** Translates complete events of a chat completion stream. Data that isn't a JSON object is skipped. */
export function translateChunks<Event>(events: Buffer, translator: ChunkTranslator<Event>): Event[] {
  return dataIn(events).flatMap((data) => {
    if (data === '[DONE]') return translator.end(true);
    const chunk = parseObject(data);
    return chunk ? translator.add(chunk) : [];
  });
}
