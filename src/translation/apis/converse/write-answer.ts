import { isObject, objectsIn } from '../../../json/object.ts';
import { addUsage } from '../../../wire/answer/usage.ts';
import { asText, countIn, definedFields, type Json, lookUp } from '../../json.ts';

/** An event in AWS's frames: its name, and its body. */
export interface AwsEvent {
  type: string;
  payload: Json;
}

/** Anthropic's stop reasons that Converse has other words for. */
const REASONS: Readonly<Record<string, string>> = { refusal: 'content_filtered', pause_turn: 'end_turn' };

/** A message as Converse's answer: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
export function converseAnswer(message: Json, latencyMs: number): Json {
  const content = objectsIn(message.content).flatMap((block) => blockOf(block) ?? []);
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: reasonOf(message.stop_reason),
    ...measured(message.usage, latencyMs),
  };
}

/**
 * Writes events of the messages API as Converse's: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */
export class ConverseEvents {
  readonly #latencyMs: () => number;
  #usage: unknown;
  #stopReason: unknown;
  /** Blocks that Converse has, by their index. */
  readonly #open = new Set<unknown>();

  constructor(latencyMs: () => number) {
    this.#latencyMs = latencyMs;
  }

  of(event: Json): AwsEvent[] {
    const message = isObject(event.message) ? event.message : {};
    const usage = message.usage ?? event.usage;
    if (usage !== undefined) this.#usage = addUsage(this.#usage, usage, event.type === 'message_delta');
    const at = { contentBlockIndex: event.index };
    switch (event.type) {
      case 'message_start':
        return [{ type: 'messageStart', payload: { role: 'assistant' } }];
      case 'content_block_start':
        return isObject(event.content_block) ? this.#start(at, event.content_block) : [];
      case 'content_block_delta': {
        const delta = isObject(event.delta) ? deltaOf(event.delta) : undefined;
        return delta && this.#open.has(event.index) ? [contentDelta(at, delta)] : [];
      }
      case 'content_block_stop':
        return this.#open.delete(event.index) ? [{ type: 'contentBlockStop', payload: at }] : [];
      case 'message_delta':
        if (isObject(event.delta)) this.#stopReason = event.delta.stop_reason ?? this.#stopReason;
        return [];
      case 'message_stop':
        return [
          { type: 'messageStop', payload: { stopReason: reasonOf(this.#stopReason) } },
          { type: 'metadata', payload: measured(this.#usage, this.#latencyMs()) },
        ];
      default:
        return [];
    }
  }

  /** Only calls begin with an event of their own. What a block begins with comes as a delta. */
  #start(at: Json, block: Json): AwsEvent[] {
    const written = blockOf(block);
    if (!written) return [];
    this.#open.add(at.contentBlockIndex);
    if (block.type === 'tool_use') {
      const toolUse = { toolUseId: block.id, name: block.name };
      return [{ type: 'contentBlockStart', payload: { start: { toolUse }, ...at } }];
    }
    if (block.type === 'redacted_thinking') return [contentDelta(at, written)];
    const text = block.type === 'text' ? block.text : block.thinking;
    if (typeof text !== 'string' || text === '') return [];
    return [contentDelta(at, block.type === 'text' ? { text } : { reasoningContent: { text } })];
  }
}

const contentDelta = (at: Json, delta: Json): AwsEvent => ({
  type: 'contentBlockDelta',
  payload: { delta, ...at },
});

/** Undefined for a block that Converse doesn't have, such as the provider's own tools. */
function blockOf(block: Json): Json | undefined {
  switch (block.type) {
    case 'text':
      return { text: block.text };
    case 'tool_use':
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } };
    case 'thinking': {
      const { thinking: text, signature } = block;
      return { reasoningContent: { reasoningText: definedFields({ text, signature }) } };
    }
    case 'redacted_thinking':
      return { reasoningContent: { redactedContent: Buffer.from(asText(block.data)).toString('base64') } };
    default:
      return undefined;
  }
}

function deltaOf(delta: Json): Json | undefined {
  switch (delta.type) {
    case 'text_delta':
      return { text: delta.text };
    case 'input_json_delta':
      return { toolUse: { input: delta.partial_json } };
    case 'thinking_delta':
      return { reasoningContent: { text: delta.thinking } };
    case 'signature_delta':
      return { reasoningContent: { signature: delta.signature } };
    default:
      return undefined;
  }
}

function reasonOf(reason: unknown): string {
  const name = typeof reason === 'string' ? reason : 'end_turn';
  return lookUp(REASONS, name) ?? name;
}

function measured(value: unknown, latencyMs: number): Json {
  const usage = isObject(value) ? value : {};
  const [inputTokens, outputTokens] = [countIn(usage.input_tokens), countIn(usage.output_tokens)];
  return {
    usage: {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      cacheReadInputTokens: countIn(usage.cache_read_input_tokens),
      cacheWriteInputTokens: countIn(usage.cache_creation_input_tokens),
    },
    metrics: { latencyMs: Math.round(latencyMs) },
  };
}
