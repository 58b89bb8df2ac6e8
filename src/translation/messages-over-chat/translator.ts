import { isObject } from '../../json/object.ts';
import { namedEvents, parseObject } from '../../wire/answer/events.ts';
import {
  argumentsIn,
  beginsCall,
  type ChunkTranslator,
  reasoningOf,
  textIn,
  translateChunks,
} from '../chat-message.ts';
import { answerObject, asText, countIn, EMPTY, type Json, objectsIn } from '../json.ts';
import { OWN_REASONING_MARK, sealCalls } from '../own-reasoning-mark.ts';
import type { Translator, TranslatorOptions } from '../translator.ts';

/** Translates chat completions to Anthropic's messages. */
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
 * Translates one stream to message events. Text and reasoning alternate in separate blocks. The blocks of tool calls
 * stay open until the end, because the deltas of parallel calls may be interleaved.
 */
class MessageStream implements ChunkTranslator<MessageEvent> {
  readonly #model: string;
  #hasBegun = false;
  #hasEnded = false;
  #blockCount = 0;
  #textBlock: { kind: TextKind; index: number } | undefined;
  /** `key` is the call's index in the chunks, `index` its block's index. */
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

  end(isDone = false): MessageEvent[] {
    if (this.#hasEnded || !this.#hasBegun || (this.#finishReason === undefined && !isDone)) return [];
    this.#hasEnded = true;
    return [
      ...this.#closeText(),
      ...this.#calls.map(({ index }) => ({ type: 'content_block_stop', index })),
      {
        type: 'message_delta',
        delta: {
          stop_reason: stopReason(this.#finishReason, this.#calls.length > 0),
          stop_sequence: null,
        },
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

  /** Clients send the block back, with what only the provider of the call can read. */
  #addSeal(call: Json): MessageEvent[] {
    const data = sealCalls([call]);
    if (data === undefined) return [];
    const index = this.#blockCount++;
    const content_block = { type: 'redacted_thinking', data };
    return [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ];
  }

  #addCall(piece: Json): MessageEvent[] {
    const { name } = isObject(piece.function) ? piece.function : {};
    const args = argumentsIn(piece.function);
    const events: MessageEvent[] = [];
    const before = this.#calls.findLast(({ key }) => key === piece.index);
    let index = before?.index;
    if (index === undefined || beginsCall(piece, before?.id)) {
      events.push(...this.#closeText(), ...this.#addSeal(piece));
      index = this.#blockCount++;
      this.#calls.push({ key: piece.index, id: piece.id, index });
      const content_block = { type: 'tool_use', id: piece.id, name, input: {} };
      events.push({ type: 'content_block_start', index, content_block });
    }
    if (args === '') return events;
    const delta = { type: 'input_json_delta', partial_json: args };
    return [...events, { type: 'content_block_delta', index, delta }];
  }
}

/** Anthropic's stop reasons by OpenAI's finish reasons. */
const STOP: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

/** Hosts that end an answer with tool calls as any other would have clients stop before they run them. */
function stopReason(finishReason: unknown, hasCalls: boolean): string {
  const reason = STOP[asText(finishReason ?? '')] ?? 'end_turn';
  return hasCalls && reason === 'end_turn' ? 'tool_use' : reason;
}

/** Translates a chat completion to Anthropic's message. */
function messageOf(body: Buffer, { model }: TranslatorOptions): Json {
  const answer = answerObject(body);
  const [choice = {}] = objectsIn(answer.choices);
  const content = contentOf(isObject(choice.message) ? choice.message : {});
  const hasCalls = content.some(({ type }) => type === 'tool_use');
  return {
    id: answer.id,
    type: 'message',
    role: 'assistant',
    model: answer.model ?? model,
    content,
    stop_reason: stopReason(choice.finish_reason, hasCalls),
    stop_sequence: null,
    usage: messageUsage(answer.usage),
  };
}

function contentOf(message: Json): Json[] {
  const { content, refusal, tool_calls } = message;
  const thinking = reasoningOf(message);
  const text = textIn(content) || refusal;
  const data = sealCalls(objectsIn(tool_calls));
  return [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: OWN_REASONING_MARK }]),
    ...(typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []),
    ...(data === undefined ? [] : [{ type: 'redacted_thinking', data }]),
    ...objectsIn(tool_calls).map(toolUse),
  ];
}

function toolUse({ id, function: call }: Json): Json {
  const { name } = isObject(call) ? call : {};
  return { type: 'tool_use', id, name, input: inputOf(argumentsIn(call)) };
}

/** The arguments as an object. Invalid JSON is passed to the tool as a string. */
function inputOf(args: string): Json {
  if (args.trim() === '') return {};
  return parseObject(args) ?? { arguments: args };
}

/** OpenAI's prompt tokens include cache reads and writes; Anthropic's input tokens don't. */
function messageUsage(value: unknown): Json {
  const usage = isObject(value) ? value : {};
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const cached = countIn(details.cached_tokens ?? usage.prompt_cache_hit_tokens);
  const cacheWrites = countIn(details.cache_write_tokens);
  return {
    input_tokens: Math.max(0, countIn(usage.prompt_tokens) - cached - cacheWrites),
    cache_creation_input_tokens: cacheWrites,
    cache_read_input_tokens: cached,
    output_tokens: countIn(usage.completion_tokens),
  };
}

/** Anthropic's error types by HTTP status. */
const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** Translates an error to Anthropic's format. */
function messageError(error: unknown, status: number): Json {
  const message = isObject(error) ? error.message : error;
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message: asText(message).slice(0, 2_000) } };
}

/** Translates the body of an error response, which may not be in OpenAI's format. */
function errorAnswer(body: Buffer, status: number): Json {
  const text = body.toString('utf8');
  return messageError(parseObject(text)?.error ?? text, status);
}
