import { isObject } from '../../json/object.ts';
import { namedEvents } from '../../wire/answer/events.ts';
import { type ChunkTranslator, translateChunks } from '../chat-chunks.ts';
import { beginsCall, reasoningOf, textIn } from '../chat-message.ts';
import { EMPTY, type Json, objectsIn } from '../json.ts';
import { OWN_REASONING_MARK } from '../own-reasoning-mark.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';
import { errorAnswer, messageError, messageOf, messageUsage, stopReason } from './answer.ts';

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

type MessageEvent = { type: string; [field: string]: unknown };

type TextKind = 'text' | 'thinking';

/**
 * One streamed message. Text and reasoning alternate in blocks of their own. The blocks of tool calls stay open until
 * the end, as the pieces of parallel calls may be interleaved.
 */
class MessageStream implements ChunkTranslator<MessageEvent> {
  readonly #model: string;
  #hasBegun = false;
  #hasEnded = false;
  #blockCount = 0;
  #textBlock: { kind: TextKind; index: number } | undefined;
  /** `key` is the call's index in the chunks, `index` that of its block. */
  readonly #calls: { key: unknown; id: unknown; index: number }[] = [];
  #usage: unknown;
  #finishReason: unknown;

  constructor({ model }: TranslatorOptions) {
    this.#model = model;
  }

  add(chunk: Json): MessageEvent[] {
    if (chunk.error) return [messageError(chunk.error, 500) as MessageEvent];
    if (isObject(chunk.usage)) this.#usage = chunk.usage;
    const events = this.#begin(chunk);
    for (const { delta, finish_reason } of objectsIn(chunk.choices)) {
      const message = isObject(delta) ? delta : {};
      events.push(...this.#addText('thinking', reasoningOf(message)));
      events.push(...this.#addText('text', textIn(message.content)));
      events.push(...this.#addText('text', message.refusal));
      events.push(...objectsIn(message.tool_calls).flatMap((piece) => this.#addCall(piece)));
      if (typeof finish_reason === 'string') this.#finishReason = finish_reason;
    }
    return events;
  }

  end(): MessageEvent[] {
    if (this.#hasEnded || this.#finishReason === undefined) return [];
    this.#hasEnded = true;
    return [
      ...this.#closeText(),
      ...this.#calls.map(({ index }) => ({ type: 'content_block_stop', index })),
      {
        type: 'message_delta',
        delta: { stop_reason: stopReason(this.#finishReason), stop_sequence: null },
        usage: messageUsage(this.#usage),
      },
      { type: 'message_stop' },
    ];
  }

  #begin(chunk: Json): MessageEvent[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const message = {
      id: chunk.id,
      type: 'message',
      role: 'assistant',
      model: chunk.model ?? this.#model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: messageUsage(undefined),
    };
    return [{ type: 'message_start', message }];
  }

  #addText(kind: TextKind, text: unknown): MessageEvent[] {
    if (typeof text !== 'string' || text === '') return [];
    const events = this.#openText(kind);
    const delta = kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };
    return [...events, { type: 'content_block_delta', index: this.#textBlock?.index, delta }];
  }

  #openText(kind: TextKind): MessageEvent[] {
    if (this.#textBlock?.kind === kind) return [];
    const events = this.#closeText();
    const index = this.#blockCount++;
    this.#textBlock = { kind, index };
    const content_block =
      kind === 'text'
        ? { type: kind, text: '' }
        : { type: kind, thinking: '', signature: OWN_REASONING_MARK };
    return [...events, { type: 'content_block_start', index, content_block }];
  }

  #closeText(): MessageEvent[] {
    if (!this.#textBlock) return [];
    const { index } = this.#textBlock;
    this.#textBlock = undefined;
    return [{ type: 'content_block_stop', index }];
  }

  #addCall(piece: Json): MessageEvent[] {
    const { name, arguments: args } = isObject(piece.function) ? piece.function : {};
    const events: MessageEvent[] = [];
    const before = this.#calls.findLast(({ key }) => key === piece.index);
    let index = before?.index;
    if (index === undefined || beginsCall(piece, before?.id)) {
      events.push(...this.#closeText());
      index = this.#blockCount++;
      this.#calls.push({ key: piece.index, id: piece.id, index });
      const content_block = { type: 'tool_use', id: piece.id, name, input: {} };
      events.push({ type: 'content_block_start', index, content_block });
    }
    if (typeof args !== 'string' || args === '') return events;
    const delta = { type: 'input_json_delta', partial_json: args };
    return [...events, { type: 'content_block_delta', index, delta }];
  }
}
