import { dataIn, parseObject } from '../wire/answer/events.ts';
import type { Json } from './json.ts';

/** Translates the chunks of one chat completion stream into events of another API. */
export interface ChunkTranslator<Event> {
  add(chunk: Json): Event[];
  /** The closing events, only once; none if the stream had no finish reason. */
  end(): Event[];
}

/** Translates complete events of a chat completion stream. Data that isn't a JSON object is skipped. */
export function translateChunks<Event>(events: Buffer, translator: ChunkTranslator<Event>): Event[] {
  return dataIn(events).flatMap((data) => {
    if (data === '[DONE]') return translator.end();
    const chunk = parseObject(data);
    return chunk ? translator.add(chunk) : [];
  });
}
