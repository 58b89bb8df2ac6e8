import { valuesIn } from '../../wire/answer/events.ts';
import { EMPTY } from '../json.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';
import { chatCompletion, chatError } from './answer.ts';
import { ChatStream } from './stream.ts';

/** Translates Anthropic's answers for a client of chat completions. */
export function translateForChat(options: TranslatorOptions): Translator {
  const stream = new ChatStream(options);
  return {
    answer: (body, status) =>
      Buffer.from(JSON.stringify(status >= 400 ? chatError(body) : chatCompletion(body, options))),
    events(events) {
      const chunks: string[] = [];
      for (const event of valuesIn(events)) {
        for (const data of stream.chunksFor(event)) chunks.push(`data: ${data}\n\n`);
      }
      return chunks.length === 0 ? EMPTY : Buffer.from(chunks.join(''));
    },
    // A stream without message_stop is incomplete, so it gets no end.
    end: () => EMPTY,
  };
}
