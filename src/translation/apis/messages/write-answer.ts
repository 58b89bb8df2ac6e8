import { parseObject } from '../../../wire/answer/events.ts';
import type { Answer, AnswerEvent, AnswerHead, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import { NO_USAGE } from '../../conversation/answer.ts';
import {
  type AnswerOptions,
  type AnswerWriter,
  type NamedEvent,
  namedText,
} from '../../conversation/answer-writer.ts';
import type { ReasoningPart, Seal } from '../../conversation/conversation.ts';
import { isTooLong, type ProviderError, readError, tooLongMessage } from '../../errors.ts';
import type { Json } from '../../json.ts';

const STOP: Readonly<Record<EndReason, string>> = {
  stop: 'end_turn',
  calls: 'tool_use',
  paused: 'pause_turn',
  length: 'max_tokens',
  filter: 'refusal',
};

/** Hosts that end an answer with tool calls as any other would have clients stop before they run them. */
const stopReason = (reason: EndReason, hasCalls: boolean): string =>
  hasCalls && reason === 'stop' ? 'tool_use' : STOP[reason];

type TextKind = 'text' | 'thinking';

/**
 * Writes Anthropic's messages. Text and reasoning alternate in separate blocks. The blocks of tool calls stay open until
 * the end, because the pieces of parallel calls may alternate.
 */
export class MessagesAnswerWriter implements AnswerWriter {
  readonly #options: AnswerOptions;
  #blockCount = 0;
  #textBlock: { kind: TextKind; index: number; isSigned: boolean } | undefined;
  /** The blocks of calls by their key. */
  readonly #calls = new Map<number, number>();
  #usage: AnswerUsage | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  stream(events: readonly AnswerEvent[]): string {
    let text = '';
    for (const event of events) text += namedText(this.#events(event));
    return text;
  }

  #events(event: AnswerEvent): NamedEvent[] {
    switch (event.type) {
      case 'start':
        return [{ type: 'message_start', message: this.#message(event) }];
      case 'text':
      case 'refusal':
        return this.#addText('text', { type: 'text_delta', text: event.text });
      case 'reasoning':
        return this.#addText('thinking', { type: 'thinking_delta', thinking: event.text });
      case 'seal':
        return this.#addSeal(event.seal);
      case 'call': {
        const events = this.#closeText();
        const index = this.#blockCount++;
        this.#calls.set(event.key, index);
        const { id, name } = event;
        const content_block = { type: 'tool_use', id, name, input: {} };
        return [...events, { type: 'content_block_start', index, content_block }];
      }
      case 'arguments': {
        const delta = { type: 'input_json_delta', partial_json: event.text };
        return [{ type: 'content_block_delta', index: this.#calls.get(event.key), delta }];
      }
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'ping':
        return [{ type: 'ping' }];
      case 'error':
        return [this.error(readError(event.error), 500) as NamedEvent];
      case 'end':
        return this.#end(event.reason);
    }
  }

  #message({ id, model }: AnswerHead): Json {
    return {
      id: typeof id === 'string' && id !== '' ? id : this.#options.newId('msg'),
      type: 'message',
      role: 'assistant',
      model: model ?? this.#options.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageOf(NO_USAGE),
    };
  }

  #addText(kind: TextKind, delta: Json): NamedEvent[] {
    const events = this.#openText(kind);
    events.push({ type: 'content_block_delta', index: this.#textBlock?.index, delta });
    return events;
  }

  #openText(kind: TextKind): NamedEvent[] {
    if (this.#textBlock?.kind === kind) return [];
    const events = this.#closeText();
    const index = this.#blockCount++;
    this.#textBlock = { kind, index, isSigned: false };
    const content_block =
      kind === 'text' ? { type: kind, text: '' } : { type: kind, thinking: '', signature: '' };
    return [...events, { type: 'content_block_start', index, content_block }];
  }

  /** Reasoning without a seal of its own comes back as the text that it is. */
  #closeText(): NamedEvent[] {
    if (!this.#textBlock) return [];
    const { index, kind, isSigned } = this.#textBlock;
    this.#textBlock = undefined;
    const stop = { type: 'content_block_stop', index };
    if (kind === 'text' || isSigned) return [stop];
    return [this.#signature(index, PLAIN), stop];
  }

  #signature(index: number, seal: Seal): NamedEvent {
    const delta = { type: 'signature_delta', signature: this.#options.pack(seal) };
    return { type: 'content_block_delta', index, delta };
  }

  /** Clients send it back, with what only the provider can read: as a signature of the reasoning before it, if any. */
  #addSeal(seal: Seal): NamedEvent[] {
    const block = this.#textBlock;
    if (block?.kind === 'thinking' && seal.kind !== 'calls') {
      block.isSigned = true;
      return [this.#signature(block.index, seal), ...this.#closeText()];
    }
    const events = this.#closeText();
    const index = this.#blockCount++;
    const content_block = { type: 'redacted_thinking', data: this.#options.pack(seal) };
    return [
      ...events,
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ];
  }

  #end(reason: EndReason): NamedEvent[] {
    const delta = { stop_reason: stopReason(reason, this.#calls.size > 0), stop_sequence: null };
    return [
      ...this.#closeText(),
      ...[...this.#calls.values()].map((index) => ({ type: 'content_block_stop', index })),
      { type: 'message_delta', delta, usage: usageOf(this.#usage ?? NO_USAGE) },
      { type: 'message_stop' },
    ];
  }

  sign(): string {
    return namedText([{ type: 'ping' }]);
  }

  whole({ head, parts, reason, usage }: Answer): Json {
    const content = parts.flatMap((part): Json[] => {
      switch (part.type) {
        case 'reasoning':
          return this.#reasoningBlocks(part);
        case 'call':
          return [{ type: 'tool_use', id: part.id, name: part.name, input: inputOf(part.args) }];
        default:
          return [{ type: 'text', text: part.text }];
      }
    });
    const hasCalls = parts.some(({ type }) => type === 'call');
    const stop_reason = stopReason(reason, hasCalls);
    return { ...this.#message(head), content, stop_reason, usage: usageOf(usage ?? NO_USAGE) };
  }

  #reasoningBlocks({ text, seals }: ReasoningPart): Json[] {
    const { pack } = this.#options;
    const [first = PLAIN, ...others] = seals;
    const hidden = (text === '' ? seals : others).map((seal) => ({
      type: 'redacted_thinking',
      data: pack(seal),
    }));
    return text === '' ? hidden : [{ type: 'thinking', thinking: text, signature: pack(first) }, ...hidden];
  }

  error(error: ProviderError, status: number): Json {
    const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
    const message = isTooLong(error) ? tooLongMessage(error) : error.message;
    return { type: 'error', error: { type, message } };
  }
}

/** Reasoning whose text has to come back. */
const PLAIN: Seal = { kind: 'text', values: [] };

/** The arguments as an object. Invalid JSON is passed to the tool as a string. */
function inputOf(args: string): Json {
  if (args.trim() === '') return {};
  return parseObject(args) ?? { arguments: args };
}

/** Anthropic's input tokens lie beside cache reads and writes. */
function usageOf({ input, cached, written, output }: AnswerUsage): Json {
  return {
    input_tokens: Math.max(0, input - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
}

/** Anthropic's error types by HTTP status. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
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
