import { isObject } from '../../json/object.ts';
import { addUsage } from '../../wire/answer/add-usage.ts';
import { valuesIn } from '../../wire/answer/events.ts';
import { asText, EMPTY, type Json } from '../json.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';
import { chatCompletion, chatError, chatErrorFields, chatUsage, finishReason } from './answer.ts';

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

/** A tool call whose input arrives in pieces. */
interface OpenCall {
  index: number;
  /** The complete input, for a call without pieces. */
  input: unknown;
  hasPieces: boolean;
}

/** One chat completion stream, translated from the events of a message. */
class ChatStream {
  readonly #model: string;
  readonly #wantsUsage: boolean;
  /** The fields that all chunks have in common. */
  readonly #identity: Json;
  readonly #calls = new Map<unknown, OpenCall>();
  #usage: unknown;
  /** The reasoning of the current block, which its signature follows. */
  #thinking = '';

  constructor({ model, wantsUsage, now }: TranslatorOptions) {
    this.#model = model;
    this.#wantsUsage = wantsUsage;
    const created = Math.floor(now() / 1000);
    this.#identity = { id: '', object: 'chat.completion.chunk', created, model };
  }

  /** The data of the chunks that an event is translated to. */
  chunksFor(event: Json): string[] {
    const message = isObject(event.message) ? event.message : {};
    const usage = message.usage ?? event.usage;
    if (usage !== undefined) this.#usage = addUsage(this.#usage, usage, event.type === 'message_delta');
    switch (event.type) {
      case 'message_start':
        this.#identity.id = message.id;
        this.#identity.model = message.model ?? this.#model;
        return [this.#chunk({ role: 'assistant', content: '', refusal: null })];
      case 'content_block_start':
        return isObject(event.content_block) ? this.#startBlock(event.index, event.content_block) : [];
      case 'content_block_delta':
        return isObject(event.delta) ? this.#addDelta(event.index, event.delta) : [];
      case 'content_block_stop':
        return this.#stopBlock(event.index);
      case 'message_delta':
        return [this.#chunk({}, finishReason(isObject(event.delta) ? event.delta.stop_reason : undefined))];
      case 'message_stop':
        return this.#end();
      case 'error':
        return [JSON.stringify({ error: chatErrorFields(event.error) })];
      default:
        return [];
    }
  }

  #chunk(delta: Json, finish_reason: string | null = null): string {
    return JSON.stringify({
      ...this.#identity,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(this.#wantsUsage ? { usage: null } : {}),
    });
  }

  #argumentsChunk({ index }: OpenCall, text: unknown): string {
    return this.#chunk({ tool_calls: [{ index, function: { arguments: text } }] });
  }

  #startBlock(blockIndex: unknown, block: Json): string[] {
    if (block.type === 'redacted_thinking') return [this.#chunk({ thinking_blocks: [block] })];
    if (block.type !== 'tool_use') return [];
    const index = this.#calls.size;
    this.#calls.set(blockIndex, { index, input: block.input ?? {}, hasPieces: false });
    const { id, name } = block;
    const call = { index, id, type: 'function', function: { name, arguments: '' } };
    return [this.#chunk({ tool_calls: [call] })];
  }

  #addDelta(blockIndex: unknown, delta: Json): string[] {
    switch (delta.type) {
      case 'text_delta':
        return [this.#chunk({ content: delta.text })];
      case 'thinking_delta':
        this.#thinking += asText(delta.thinking ?? '');
        return [this.#chunk({ reasoning_content: delta.thinking })];
      case 'signature_delta': {
        const block = { type: 'thinking', thinking: this.#thinking, signature: delta.signature };
        this.#thinking = '';
        return [this.#chunk({ thinking_blocks: [block] })];
      }
      case 'input_json_delta': {
        const call = this.#calls.get(blockIndex);
        if (!call || delta.partial_json === '') return [];
        call.hasPieces = true;
        return [this.#argumentsChunk(call, delta.partial_json)];
      }
      default:
        return [];
    }
  }

  /** A call without pieces gets its input now: clients parse the arguments, and an empty string is not JSON. */
  #stopBlock(blockIndex: unknown): string[] {
    const call = this.#calls.get(blockIndex);
    return call && !call.hasPieces ? [this.#argumentsChunk(call, JSON.stringify(call.input))] : [];
  }

  #end(): string[] {
    if (!this.#wantsUsage) return ['[DONE]'];
    return [JSON.stringify({ ...this.#identity, choices: [], usage: chatUsage(this.#usage) }), '[DONE]'];
  }
}
