import { isObject } from '../../json/object.ts';
import { argumentsIn, beginsCall, type ChunkTranslator, reasoningOf, textIn } from '../chat-message.ts';
import { asText, type Json, objectsIn } from '../json.ts';
import {
  type Call,
  callItem,
  type ItemStatus,
  isCustom,
  messageItem,
  newCall,
  reasoningItem,
  refusalPart,
  sealItem,
  textPart,
} from './items.ts';
import { emptyResponse, endingOf, type ResponseOptions, responseUsage } from './response.ts';

export type ResponseEvent = { type: string; [field: string]: unknown };

/** The item that receives text deltas. */
interface TextItem {
  kind: 'text' | 'refusal' | 'reasoning';
  id: string;
  index: number;
  text: string;
  /** Signed reasoning blocks. */
  signed: Json[];
}

interface OpenCall {
  call: Call;
  /** The item's index in the output. */
  index: number;
  /** The call's index in the chunks. */
  key: unknown;
}

/** The text kind as it appears in event names. */
const EVENT_NAMES = {
  text: 'output_text',
  refusal: 'refusal',
  reasoning: 'reasoning_summary_text',
} as const;

/**
 * Translates one stream to response events. Reasoning, text and refusals alternate in separate items. Calls stay open
 * until the end, because the deltas of parallel calls may be interleaved.
 */
export class ResponseStream implements ChunkTranslator<ResponseEvent> {
  readonly #options: ResponseOptions;
  #response: Json | undefined;
  #hasEnded = false;
  #sequence = 0;
  #itemCount = 0;
  #textItem: TextItem | undefined;
  readonly #calls: OpenCall[] = [];
  readonly #output: Json[] = [];
  #usage: unknown;
  #finishReason: unknown;

  constructor(options: ResponseOptions) {
    this.#options = options;
  }

  add(chunk: Json): ResponseEvent[] {
    if (this.#hasEnded) return [];
    if (chunk.error) return this.#fail(chunk.error);
    if (isObject(chunk.usage)) this.#usage = chunk.usage;
    const events = this.#begin(chunk);
    for (const { delta, finish_reason } of objectsIn(chunk.choices)) {
      const message = isObject(delta) ? delta : {};
      events.push(...this.#addText('reasoning', reasoningOf(message)));
      events.push(...this.#addSigned(objectsIn(message.thinking_blocks)));
      events.push(...this.#addText('text', textIn(message.content)));
      events.push(...this.#addText('refusal', typeof message.refusal === 'string' ? message.refusal : ''));
      events.push(...objectsIn(message.tool_calls).flatMap((piece) => this.#addCall(piece)));
      if (typeof finish_reason === 'string') this.#finishReason = finish_reason;
    }
    return events;
  }

  end(isDone = false): ResponseEvent[] {
    if (this.#hasEnded || !this.#response || (this.#finishReason === undefined && !isDone)) return [];
    this.#hasEnded = true;
    const ending = endingOf(this.#finishReason);
    const status = ending.status === 'completed' ? 'completed' : 'incomplete';
    const events = [
      ...this.#closeText(status),
      ...this.#calls.flatMap((openCall) => this.#closeCall(openCall, status)),
    ];
    const response = {
      ...this.#response,
      ...ending,
      output: this.#output,
      usage: responseUsage(this.#usage),
    };
    return [...events, this.#event(`response.${asText(ending.status)}`, { response })];
  }

  #event(type: string, fields: Json): ResponseEvent {
    return { type, sequence_number: this.#sequence++, ...fields };
  }

  #begin({ created, model }: Json): ResponseEvent[] {
    if (this.#response) return [];
    const response = emptyResponse(this.#options.newId('resp'), created, model, this.#options);
    this.#response = response;
    return [this.#event('response.created', { response }), this.#event('response.in_progress', { response })];
  }

  #fail(error: unknown): ResponseEvent[] {
    this.#hasEnded = true;
    const message = isObject(error) ? error.message : error;
    const failure = { code: 'server_error', message: asText(message).slice(0, 2_000) };
    const events = this.#begin({});
    const output = this.#output.filter(Boolean);
    const response = { ...this.#response, status: 'failed', error: failure, output };
    return [...events, this.#event('response.failed', { response })];
  }

  #addText(kind: TextItem['kind'], text: string): ResponseEvent[] {
    if (text === '') return [];
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

  #addSigned(blocks: Json[]): ResponseEvent[] {
    if (blocks.length === 0) return [];
    const events = this.#openText('reasoning');
    this.#textItem?.signed.push(...blocks);
    return events;
  }

  #openText(kind: TextItem['kind']): ResponseEvent[] {
    if (this.#textItem?.kind === kind) return [];
    const events = this.#closeText('completed');
    const id = this.#options.newId(kind === 'reasoning' ? 'rs' : 'msg');
    const textItem: TextItem = { kind, id, index: this.#itemCount++, text: '', signed: [] };
    this.#textItem = textItem;
    const item = kind === 'reasoning' ? reasoningItem(id, '', []) : messageItem(id, [], 'in_progress');
    events.push(this.#event('response.output_item.added', { output_index: textItem.index, item }));
    if (kind === 'reasoning') return events;
    const part = kind === 'text' ? textPart('') : refusalPart('');
    return [...events, this.#event('response.content_part.added', { ...positionOf(textItem), part })];
  }

  #closeText(status: ItemStatus): ResponseEvent[] {
    if (!this.#textItem) return [];
    const textItem = this.#textItem;
    this.#textItem = undefined;
    return textItem.kind === 'reasoning'
      ? this.#closeReasoning(textItem)
      : this.#closeMessage(textItem, status);
  }

  #closeReasoning(textItem: TextItem): ResponseEvent[] {
    const { id, index, text, signed } = textItem;
    const position = positionOf(textItem);
    const part = { type: 'summary_text', text };
    const events: ResponseEvent[] = [];
    if (text !== '') {
      events.push(this.#event('response.reasoning_summary_text.done', { ...position, text }));
      events.push(this.#event('response.reasoning_summary_part.done', { ...position, part }));
    }
    events.push(this.#itemDone(index, reasoningItem(id, text, signed)));
    return events;
  }

  #closeMessage(textItem: TextItem, status: ItemStatus): ResponseEvent[] {
    const { kind, id, index, text } = textItem;
    const position = positionOf(textItem);
    const isText = kind === 'text';
    const part = isText ? textPart(text) : refusalPart(text);
    const content = isText ? { text, logprobs: [] } : { refusal: text };
    return [
      this.#event(`response.${EVENT_NAMES[kind]}.done`, { ...position, ...content }),
      this.#event('response.content_part.done', { ...position, part }),
      this.#itemDone(index, messageItem(id, [part], status)),
    ];
  }

  /** Clients send the item back, with what only the provider of the call can read. */
  #addSeal(call: Json): ResponseEvent[] {
    const item = sealItem(this.#options.newId('rs'), [call]);
    if (!item) return [];
    const index = this.#itemCount++;
    return [
      this.#event('response.output_item.added', { output_index: index, item }),
      this.#itemDone(index, item),
    ];
  }

  #addCall(piece: Json): ResponseEvent[] {
    const { name } = isObject(piece.function) ? piece.function : {};
    const args = argumentsIn(piece.function);
    const events: ResponseEvent[] = [];
    let openCall = this.#calls.findLast(({ key }) => key === piece.index);
    if (!openCall || beginsCall(piece, openCall.call.callId)) {
      events.push(...this.#closeText('completed'));
      const call = newCall(piece.id, name, this.#options);
      events.push(...this.#addSeal({ ...piece, id: call.callId }));
      openCall = { call, index: this.#itemCount++, key: piece.index };
      this.#calls.push(openCall);
      const item = callItem(call, 'in_progress', this.#options);
      events.push(this.#event('response.output_item.added', { output_index: openCall.index, item }));
    }
    if (args === '') return events;
    const { call, index } = openCall;
    call.args += args;
    // A custom tool's input can't be extracted until its JSON is complete.
    if (isCustom(call, this.#options)) return events;
    const fields = { output_index: index, item_id: call.id, delta: args };
    return [...events, this.#event('response.function_call_arguments.delta', fields)];
  }

  #closeCall({ call, index }: OpenCall, status: ItemStatus): ResponseEvent[] {
    const position = { output_index: index, item_id: call.id };
    if (call.args === '' && status === 'completed') call.args = '{}';
    const item = callItem(call, status, this.#options);
    if (isCustom(call, this.#options)) {
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

  #itemDone(index: number, item: Json): ResponseEvent {
    this.#output[index] = item;
    return this.#event('response.output_item.done', { output_index: index, item });
  }
}

/** The fields that locate an item's text in the response. */
function positionOf({ kind, id, index }: TextItem): Json {
  const part = kind === 'reasoning' ? { summary_index: 0 } : { content_index: 0 };
  return { item_id: id, output_index: index, ...part };
}
