import type { Answer, AnswerEvent, AnswerHead, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import {
  type AnswerOptions,
  type AnswerWriter,
  type NamedEvent,
  namedText,
  SIGN,
} from '../../conversation/answer-writer.ts';
import type { Seal } from '../../conversation/conversation.ts';
import { isTooLong, type ProviderError, readError } from '../../errors.ts';
import type { Json } from '../../json.ts';
import { errorFields } from '../chat/write-answer.ts';
import {
  type Call,
  callItem,
  emptyResponse,
  type ItemStatus,
  isCustom,
  messageItem,
  newCall,
  type PartKind,
  partOf,
  reasoningItem,
  usageOf,
} from './items.ts';
import { type NamedTool, toolsByName } from './tool-names.ts';

/** The item that receives text. */
interface TextItem {
  kind: PartKind | 'reasoning';
  id: string;
  index: number;
  text: string;
  seals: Seal[];
}

interface OpenCall {
  call: Call;
  /** The item's index in the output. */
  index: number;
}

/** The kind of text as it appears in event names. */
const EVENT_NAMES = {
  text: 'output_text',
  refusal: 'refusal',
  reasoning: 'reasoning_summary_text',
} as const;

const WHOLE = { status: 'completed', incomplete_details: null };
const ENDINGS: Readonly<Record<EndReason, Json>> = {
  stop: WHOLE,
  calls: WHOLE,
  paused: WHOLE,
  length: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  filter: { status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
};

/**
 * Writes responses. Reasoning, text and refusals alternate in separate items. Calls stay open until the end, because the
 * pieces of parallel calls may alternate. A whole response is what a stream of its steps ends with.
 */
export class ResponsesAnswerWriter implements AnswerWriter {
  readonly #options: AnswerOptions;
  readonly #tools: ReadonlyMap<string, NamedTool>;
  #response: Json | undefined;
  #sequence = 0;
  #itemCount = 0;
  #textItem: TextItem | undefined;
  readonly #calls = new Map<number, OpenCall>();
  readonly #output: Json[] = [];
  #usage: AnswerUsage | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
    this.#tools = toolsByName(options.request);
  }

  stream(events: readonly AnswerEvent[]): string {
    return events.map((event) => (event.type === 'ping' ? SIGN : namedText(this.#events(event)))).join('');
  }

  sign(): string {
    return SIGN;
  }

  whole({ head, parts, usage, reason }: Answer): Json {
    this.#begin(head);
    this.#usage = usage;
    let key = 0;
    for (const part of parts) {
      if (part.type === 'call') {
        this.#addCall(key, part.id, part.name);
        this.#addArguments(key++, part.args);
      } else {
        if (part.text !== '') this.#addText(part.type, part.text);
        if (part.type === 'reasoning') for (const seal of part.seals) this.#addSeal(seal);
      }
    }
    this.#end(reason);
    return this.#response ?? {};
  }

  #events(event: AnswerEvent): NamedEvent[] {
    switch (event.type) {
      case 'start':
        return this.#begin(event);
      case 'text':
      case 'refusal':
      case 'reasoning':
        return this.#addText(event.type, event.text);
      case 'seal':
        return this.#addSeal(event.seal);
      case 'call':
        return this.#addCall(event.key, event.id, event.name);
      case 'arguments':
        return this.#addArguments(event.key, event.text);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'error':
        return this.#fail(event.error);
      case 'end':
        return this.#end(event.reason);
      default:
        return [];
    }
  }

  #event(type: string, fields: Json): NamedEvent {
    return { type, sequence_number: this.#sequence++, ...fields };
  }

  #begin({ created, model }: AnswerHead): NamedEvent[] {
    if (this.#response) return [];
    const response = emptyResponse({ created, model }, this.#options);
    this.#response = response;
    return [this.#event('response.created', { response }), this.#event('response.in_progress', { response })];
  }

  #fail(error: unknown): NamedEvent[] {
    const fault = readError(error);
    const code = isTooLong(fault) ? 'context_length_exceeded' : 'server_error';
    const events = this.#begin({});
    const output = this.#output.filter(Boolean);
    const failure = { code, message: fault.message };
    const response = { ...this.#response, status: 'failed', error: failure, output };
    return [...events, this.#event('response.failed', { response })];
  }

  #end(reason: EndReason): NamedEvent[] {
    const ending = ENDINGS[reason];
    const status = ending.status === 'completed' ? 'completed' : 'incomplete';
    const events = [
      ...this.#closeText(status),
      ...[...this.#calls.values()].flatMap((openCall) => this.#closeCall(openCall, status)),
    ];
    this.#response = { ...this.#response, ...ending, output: this.#output, usage: usageOf(this.#usage) };
    return [...events, this.#event(`response.${ending.status}`, { response: this.#response })];
  }

  #addText(kind: TextItem['kind'], text: string): NamedEvent[] {
    const events = this.#openText(kind);
    const item = this.#textItem;
    if (!item) return events;
    if (kind === 'reasoning' && item.text === '') {
      const part = { type: 'summary_text', text: '' };
      events.push(this.#event('response.reasoning_summary_part.added', { ...positionOf(item), part }));
    }
    item.text += text;
    const logprobs = kind === 'text' ? { logprobs: [] } : {};
    const fields = { ...positionOf(item), delta: text, ...logprobs };
    return [...events, this.#event(`response.${EVENT_NAMES[kind]}.delta`, fields)];
  }

  /** Clients send the item back, with what only the provider can read. */
  #addSeal(seal: Seal): NamedEvent[] {
    const isApart = seal.kind === 'calls';
    const events = isApart ? this.#closeText('completed') : [];
    events.push(...this.#openText('reasoning'));
    this.#textItem?.seals.push(seal);
    return isApart ? [...events, ...this.#closeText('completed')] : events;
  }

  #openText(kind: TextItem['kind']): NamedEvent[] {
    if (this.#textItem?.kind === kind) return [];
    const events = this.#closeText('completed');
    const id = this.#options.newId(kind === 'reasoning' ? 'rs' : 'msg');
    const textItem: TextItem = { kind, id, index: this.#itemCount++, text: '', seals: [] };
    this.#textItem = textItem;
    const item =
      kind === 'reasoning' ? { id, type: 'reasoning', summary: [] } : messageItem(id, [], 'in_progress');
    events.push(this.#event('response.output_item.added', { output_index: textItem.index, item }));
    if (kind === 'reasoning') return events;
    return [
      ...events,
      this.#event('response.content_part.added', { ...positionOf(textItem), part: partOf(kind, '') }),
    ];
  }

  #closeText(status: ItemStatus): NamedEvent[] {
    if (!this.#textItem) return [];
    const textItem = this.#textItem;
    this.#textItem = undefined;
    return textItem.kind === 'reasoning'
      ? this.#closeReasoning(textItem)
      : this.#closeMessage(textItem, textItem.kind, status);
  }

  #closeReasoning(textItem: TextItem): NamedEvent[] {
    const { id, index, text, seals } = textItem;
    const position = positionOf(textItem);
    const part = { type: 'summary_text', text };
    const events: NamedEvent[] = [];
    if (text !== '') {
      events.push(this.#event('response.reasoning_summary_text.done', { ...position, text }));
      events.push(this.#event('response.reasoning_summary_part.done', { ...position, part }));
    }
    events.push(this.#itemDone(index, reasoningItem(id, text, seals, this.#options.pack)));
    return events;
  }

  #closeMessage(textItem: TextItem, kind: PartKind, status: ItemStatus): NamedEvent[] {
    const { id, index, text } = textItem;
    const position = positionOf(textItem);
    const part = partOf(kind, text);
    const content = kind === 'text' ? { text, logprobs: [] } : { refusal: text };
    return [
      this.#event(`response.${EVENT_NAMES[kind]}.done`, { ...position, ...content }),
      this.#event('response.content_part.done', { ...position, part }),
      this.#itemDone(index, messageItem(id, [part], status)),
    ];
  }

  #addCall(key: number, callId: string, name: string): NamedEvent[] {
    const events = this.#closeText('completed');
    const call = newCall(callId, name, this.#tools, this.#options.newId);
    const openCall = { call, index: this.#itemCount++ };
    this.#calls.set(key, openCall);
    const item = callItem(call, 'in_progress', this.#tools);
    return [...events, this.#event('response.output_item.added', { output_index: openCall.index, item })];
  }

  #addArguments(key: number, text: string): NamedEvent[] {
    const openCall = this.#calls.get(key);
    if (!openCall) return [];
    const { call, index } = openCall;
    call.args += text;
    // A custom tool's input can't be extracted until its JSON is complete.
    if (isCustom(call, this.#tools) || text === '') return [];
    const fields = { output_index: index, item_id: call.id, delta: text };
    return [this.#event('response.function_call_arguments.delta', fields)];
  }

  #closeCall({ call, index }: OpenCall, status: ItemStatus): NamedEvent[] {
    const position = { output_index: index, item_id: call.id };
    if (call.args === '' && status === 'completed') call.args = '{}';
    const item = callItem(call, status, this.#tools);
    if (isCustom(call, this.#tools)) {
      const { input } = item;
      return [
        this.#event('response.custom_tool_call_input.delta', { ...position, delta: input }),
        this.#event('response.custom_tool_call_input.done', { ...position, input }),
        this.#itemDone(index, item),
      ];
    }
    const { name, arguments: args } = item;
    return [
      this.#event('response.function_call_arguments.done', { ...position, name, arguments: args }),
      this.#itemDone(index, item),
    ];
  }

  /** Clients that let the API store their items send no more than its id. */
  #itemDone(index: number, item: Json): NamedEvent {
    this.#output[index] = item;
    if (this.#options.request.store !== false) this.#options.remember(item);
    return this.#event('response.output_item.done', { output_index: index, item });
  }

  error(error: ProviderError, status: number): Json {
    return { error: errorFields(error, status) };
  }
}

/** The fields that locate an item's text in the response. */
function positionOf({ kind, id, index }: TextItem): Json {
  const part = kind === 'reasoning' ? { summary_index: 0 } : { content_index: 0 };
  return { item_id: id, output_index: index, ...part };
}
