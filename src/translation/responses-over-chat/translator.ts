import { dataIn, namedEvents, parseObject } from '../../wire/answer/events.ts';
import { EMPTY, type Json, objectsIn } from '../json.ts';
import type { TranslationOptions, Translator } from '../translator.ts';
import { errorAnswer, responseOf } from './answer.ts';
import { type ResponseEvent, responseStream } from './stream.ts';
import { toolNames } from './tool-names.ts';

/** Chat completions for a client of responses. */
export function translateForResponses(options: TranslationOptions): Translator {
  const { request, memory } = options;
  const responseOptions = { ...options, tools: toolNames(request.tools) };
  const stream = responseStream(responseOptions);

  /** Clients that store nothing send items back themselves. */
  function remember(items: readonly Json[]): void {
    if (request.store !== false) for (const item of items) memory.remember(item);
  }

  function written(events: ResponseEvent[]): Buffer {
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
    events(events) {
      const out: ResponseEvent[] = [];
      for (const data of dataIn(events)) {
        if (data === '[DONE]') out.push(...stream.end());
        else {
          const chunk = parseObject(data);
          if (chunk) out.push(...stream.add(chunk));
        }
      }
      return written(out);
    },
    end: () => written(stream.end()),
  };
}
