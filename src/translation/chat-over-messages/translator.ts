import { isObject } from '../../json/object.ts';
import { parseObject, valuesIn } from '../../wire/answer/events.ts';
import { addUsage } from '../../wire/answer/usage.ts';
import { answerObject, asText, countIn, EMPTY, type Json, objectsIn } from '../json.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';

/** Translates Anthropic's responses to chat completions. */
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
    // A stream without message_stop is incomplete, so it gets no closing events.
    end: () => EMPTY,
  };
}

/** A tool call whose input arrives in deltas. */
interface OpenCall {
  index: number;
  /** The complete input, for a call without deltas. */
  input: unknown;
  hasPieces: boolean;
}

/** Translates one stream of message events to chat completion chunks. */
class ChatStream {
  readonly #model: string;
  readonly #wantsUsage: boolean;
  /** The fields that all chunks share. */
  readonly #identity: Json;
  readonly #calls = new Map<unknown, OpenCall>();
  #usage: unknown;
  /** The current block's reasoning so far. Its signature follows it. */
  #thinking = '';

  constructor({ model, wantsUsage, now }: TranslatorOptions) {
    this.#model = model;
    this.#wantsUsage = wantsUsage;
    const created = Math.floor(now() / 1000);
    this.#identity = { id: '', object: 'chat.completion.chunk', created, model };
  }

  /** The data of the chunks for an event. */
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
        return [
          this.#chunk(
            {},
            finishReason(isObject(event.delta) ? event.delta.stop_reason : undefined, this.#calls.size > 0),
          ),
        ];
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
    // Some hosts have a text here, and no delta of it.
    if (block.type === 'text' && block.text) return [this.#chunk({ content: block.text })];
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

  /** Sends the input of a call without deltas: clients parse the arguments, and an empty string is not JSON. */
  #stopBlock(blockIndex: unknown): string[] {
    const call = this.#calls.get(blockIndex);
    return call && !call.hasPieces ? [this.#argumentsChunk(call, JSON.stringify(call.input))] : [];
  }

  #end(): string[] {
    if (!this.#wantsUsage) return ['[DONE]'];
    return [JSON.stringify({ ...this.#identity, choices: [], usage: chatUsage(this.#usage) }), '[DONE]'];
  }
}

/** OpenAI's finish reasons by Anthropic's stop reasons. */
const FINISH: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

function finishReason(stopReason: unknown, hasCalls: boolean): string {
  const reason = FINISH[asText(stopReason ?? '')] ?? 'stop';
  return hasCalls && reason === 'stop' ? 'tool_calls' : reason;
}

/** Translates Anthropic's message to a chat completion. */
function chatCompletion(body: Buffer, { model, now }: TranslatorOptions): Json {
  const answer = answerObject(body);
  return {
    id: answer.id,
    object: 'chat.completion',
    created: Math.floor(now() / 1000),
    model: answer.model ?? model,
    choices: [
      {
        index: 0,
        message: chatMessage(objectsIn(answer.content)),
        logprobs: null,
        finish_reason: finishReason(
          answer.stop_reason,
          objectsIn(answer.content).some(({ type }) => type === 'tool_use'),
        ),
      },
    ],
    usage: chatUsage(answer.usage),
  };
}

function chatMessage(blocks: Json[]): Json {
  const texts = blocks.filter(({ type }) => type === 'text').map(({ text }) => text);
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const thinking = blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking');
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.join('') : null,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls.map(toolCall) } : {}),
    ...(thinking.length > 0 ? reasoning(thinking) : {}),
  };
}

function toolCall({ id, name, input }: Json): Json {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}

/** OpenAI's API has no field for reasoning. DeepSeek and other gateways use these two fields. */
function reasoning(blocks: Json[]): Json {
  const text = blocks.map(({ thinking }) => (typeof thinking === 'string' ? thinking : '')).join('');
  return { reasoning_content: text, thinking_blocks: blocks };
}

/** OpenAI's prompt tokens include cache reads and writes; Anthropic's input tokens don't. */
function chatUsage(value: unknown): Json {
  const usage = isObject(value) ? value : {};
  const cached = countIn(usage.cache_read_input_tokens);
  const cacheWrites = countIn(usage.cache_creation_input_tokens);
  const input = countIn(usage.input_tokens) + cached + cacheWrites;
  const output = countIn(usage.output_tokens);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      audio_tokens: 0,
      ...(cacheWrites > 0 ? { cache_write_tokens: cacheWrites } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** Translates the body of an error response, which may not be in Anthropic's format. */
function chatError(body: Buffer): Json {
  const text = body.toString('utf8');
  return { error: chatErrorFields(parseObject(text)?.error ?? text) };
}

function chatErrorFields(error: unknown): Json {
  const { type, message } = isObject(error) ? error : { type: 'api_error', message: error };
  return { message: asText(message).slice(0, 2_000), type, param: null, code: null };
}
