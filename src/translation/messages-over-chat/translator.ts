import { namedEvents } from '../../wire/answer/events.ts';
import { translateChunks } from '../chat-chunks.ts';
import { EMPTY } from '../json.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';
import { errorAnswer, messageOf } from './answer.ts';
import { type MessageEvent, MessageStream } from './stream.ts';

/** Translates chat completions for a client of Anthropic's messages. */
export function translateForMessages(options: TranslatorOptions): Translator {
  const stream = new MessageStream(options);
  return {
    answer: (body, status) =>
      Buffer.from(JSON.stringify(status >= 400 ? errorAnswer(body, status) : messageOf(body, options))),
    events: (events) => bytesOf(translateChunks(events, stream)),
    end: () => bytesOf(stream.end()),
  };
}

function bytesOf(events: MessageEvent[]): Buffer {
  return events.length === 0 ? EMPTY : namedEvents(events);
}
