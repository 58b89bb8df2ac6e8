import { isObject, objectsIn } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import { addUsage } from '../../../wire/answer/usage.ts';
import type { AnswerEvent, AnswerReader, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import { asText, countIn, type Json, lookUp } from '../../json.ts';

/** A tool call whose input arrives in deltas. */
interface OpenCall {
  key: number;
  /** The complete input, for a call without deltas. */
  input: unknown;
  hasPieces: boolean;
}

/** Anthropic's stop reasons that are no plain end. */
const REASONS: Readonly<Record<string, EndReason>> = {
  tool_use: 'calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filter',
  pause_turn: 'paused',
};

/** Reads Anthropic's messages: https://platform.claude.com/docs/en/build-with-claude/streaming */
export class MessagesAnswerReader implements AnswerReader {
  readonly #calls = new Map<unknown, OpenCall>();
  #usage: unknown;
  /** The current block's reasoning so far. Its signature follows it. */
  #thinking = '';
  #stopReason: unknown;
  #hasEnded = false;

  event(data: string): AnswerEvent[] {
    const event = parseObject(data);
    return event ? this.#add(event) : [];
  }

  /** Some hosts omit the last event. Without a stop reason either, the message is incomplete. */
  end(): AnswerEvent[] {
    if (this.#hasEnded || typeof this.#stopReason !== 'string') return [];
    this.#hasEnded = true;
    return [
      { type: 'usage', usage: usageOf(this.#usage) },
      { type: 'end', reason: lookUp(REASONS, this.#stopReason) ?? 'stop' },
    ];
  }

  whole(message: Json): AnswerEvent[] {
    const blocks = objectsIn(message.content).flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]);
    const { stop_reason = 'end_turn', usage } = message;
    return [
      { type: 'message_start', message },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason: stop_reason ?? 'end_turn' }, usage },
      { type: 'message_stop' },
    ].flatMap((event) => this.#add(event));
  }

  #add(event: Json): AnswerEvent[] {
    const message = isObject(event.message) ? event.message : {};
    const usage = message.usage ?? event.usage;
    if (usage !== undefined) this.#usage = addUsage(this.#usage, usage, event.type === 'message_delta');
    switch (event.type) {
      case 'message_start':
        return [{ type: 'start', id: message.id, model: message.model }];
      case 'content_block_start':
        return isObject(event.content_block) ? this.#startBlock(event.index, event.content_block) : [];
      case 'content_block_delta':
        return isObject(event.delta) ? this.#addDelta(event.index, event.delta) : [];
      case 'content_block_stop':
        return this.#stopBlock(event.index);
      case 'message_delta':
        if (isObject(event.delta)) this.#stopReason = event.delta.stop_reason ?? this.#stopReason;
        return [];
      case 'message_stop':
        this.#stopReason ??= 'end_turn';
        return this.end();
      case 'ping':
        return [{ type: 'ping' }];
      case 'error':
        this.#hasEnded = true;
        return [{ type: 'error', error: event.error }];
      default:
        return [];
    }
  }

  /** A whole message has its content here, and so have the texts of some hosts, without a delta of them. */
  #startBlock(index: unknown, block: Json): AnswerEvent[] {
    switch (block.type) {
      case 'redacted_thinking':
        return [sealOf(block)];
      case 'thinking': {
        this.#thinking = asText(block.thinking ?? '');
        const text = this.#thinking;
        const events: AnswerEvent[] = text === '' ? [] : [{ type: 'reasoning', text }];
        return block.signature ? [...events, ...this.#sign(block.signature)] : events;
      }
      case 'text':
        return typeof block.text === 'string' && block.text !== ''
          ? [{ type: 'text', text: block.text }]
          : [];
      case 'tool_use': {
        const key = this.#calls.size;
        this.#calls.set(index, { key, input: block.input ?? {}, hasPieces: false });
        return [{ type: 'call', key, id: asText(block.id), name: asText(block.name) }];
      }
      default:
        return [];
    }
  }

  #addDelta(index: unknown, delta: Json): AnswerEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return typeof delta.text === 'string' ? [{ type: 'text', text: delta.text }] : [];
      case 'thinking_delta': {
        const text = asText(delta.thinking ?? '');
        this.#thinking += text;
        return [{ type: 'reasoning', text }];
      }
      case 'signature_delta':
        return this.#sign(delta.signature);
      case 'input_json_delta': {
        const call = this.#calls.get(index);
        if (!call || typeof delta.partial_json !== 'string' || delta.partial_json === '') return [];
        call.hasPieces = true;
        return [{ type: 'arguments', key: call.key, text: delta.partial_json }];
      }
      default:
        return [];
    }
  }

  #sign(signature: unknown): AnswerEvent[] {
    const thinking = this.#thinking;
    this.#thinking = '';
    return [sealOf({ type: 'thinking', thinking, signature })];
  }

  /** The input of a call without deltas. */
  #stopBlock(index: unknown): AnswerEvent[] {
    const call = this.#calls.get(index);
    if (!call || call.hasPieces) return [];
    call.hasPieces = true;
    return [{ type: 'arguments', key: call.key, text: JSON.stringify(call.input) }];
  }
}

const sealOf = (block: Json): AnswerEvent => ({ type: 'seal', seal: { kind: 'thinking', values: [block] } });

/** Anthropic's input tokens lie beside cache reads and writes. */
function usageOf(value: unknown): AnswerUsage {
  const usage = isObject(value) ? value : {};
  const cached = countIn(usage.cache_read_input_tokens);
  const written = countIn(usage.cache_creation_input_tokens);
  return {
    input: countIn(usage.input_tokens) + cached + written,
    cached,
    written,
    output: countIn(usage.output_tokens),
    reasoning: 0,
  };
}
