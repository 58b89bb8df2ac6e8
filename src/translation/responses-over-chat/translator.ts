import { namedEvents } from '../../wire/answer/events.ts';
import { translateChunks } from '../chat-chunks.ts';
import { EMPTY, type Json, objectsIn } from '../json.ts';
import type { TranslationOptions, Translator } from '../translator.ts';
import { errorAnswer, responseOf } from './answer.ts';
import { type ResponseEvent, ResponseStream } from './stream.ts';
import { toolsByName } from './tool-names.ts';

/** Translates chat completions for a client of responses. */
export function translateForResponses(options: TranslationOptions): Translator {
  const { request, memory } = options;
  const responseOptions = { ...options, tools: toolsByName(request) };
  const stream = new ResponseStream(responseOptions);

  /** Not needed for a client that has nothing stored, as it sends the items itself. */
  function remember(items: readonly Json[]): void {
    if (request.store !== false) for (const item of items) memory.remember(item);
  }

  function bytesOf(events: ResponseEvent[]): Buffer {
    for (const { type, item } of events) {
      if (type === 'response.output_item.done') remember(objectsIn([item]));
    }
    return events.length === 0 ? EMPTY : namedEvents(events);
  }

  return {
    answer(body, status) {
      if (status >= 400) return errorAnswer(body);
      const response = responseOf(body, responseOptions);
      remember(objectsIn(response.output));
      return Buffer.from(JSON.stringify(response));
    },
    events: (events) => bytesOf(translateChunks(events, stream)),
    end: () => bytesOf(stream.end()),
  };
}
