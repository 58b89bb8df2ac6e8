import { isObject } from '../../json/object.ts';
import { beginsCall, reasoningOf, textIn } from '../chat-message.ts';
import { type Json, objectsIn } from '../json.ts';
import {
  type Call,
  callItem,
  type ItemStatus,
  isCustom,
  messageItem,
  newCall,
  reasoningItem,
  refusalPart,
  textPart,
} from './items.ts';
import { emptyResponse, endingOf, type ResponseOptions, responseUsage } from './response.ts';

export type ResponseEvent = { type: string; [field: string]: unknown };

export interface ResponseStream {
  /** The events that a chunk makes. */
  add(chunk: Json): ResponseEvent[];
  /** The last events, once; none for a stream that never said why it stopped. */
  end(): ResponseEvent[];
}

/** An item that text is added to. */
interface Speech {
  kind: 'text' | 'refusal' | 'thought';
  id: string;
  index: number;
  text: string;
  signed: Json[];
}

interface OpenCall {
  call: Call;
  index: number;
  key: unknown;
}

/**
 * From one chunk to the next. Thoughts, text and refusals take turns in items of their own; the calls stay open until
 * the end, as the pieces of parallel ones may come mixed.
 */
export function responseStream(options: ResponseOptions): ResponseStream {
  let response: Json | undefined;
  let over = false;
  let sequence = 0;
  let items = 0;
  let speech: Speech | undefined;
  const calls: OpenCall[] = [];
  const output: Json[] = [];
  let usage: unknown;
  let finish: unknown;

  const event = (type: string, fields: Json): ResponseEvent => ({
    type,
    sequence_number: sequence++,
    ...fields,
  });

  function begin({ created, model }: Json): ResponseEvent[] {
    if (response) return [];
    response = emptyResponse(options.newId('resp'), created, model, options);
    return [event('response.created', { response }), event('response.in_progress', { response })];
  }

  function done(index: number, item: Json): ResponseEvent {
    output[index] = item;
    return event('response.output_item.done', { output_index: index, item });
  }

  function speak(kind: Speech['kind'], text: string): ResponseEvent[] {
    if (text === '') return [];
    const out = open(kind);
    if (!speech) return out;
    if (kind === 'thought' && speech.text === '') {
      const part = { type: 'summary_text', text: '' };
      out.push(event('response.reasoning_summary_part.added', { ...placeOf(speech), part }));
    }
    speech.text += text;
    const logprobs = kind === 'text' ? { logprobs: [] } : {};
    out.push(event(`response.${NAMES[kind]}.delta`, { ...placeOf(speech), delta: text, ...logprobs }));
    return out;
  }

  function open(kind: Speech['kind']): ResponseEvent[] {
    if (speech?.kind === kind) return [];
    const out = hush('completed');
    const opened: Speech = {
      kind,
      id: options.newId(kind === 'thought' ? 'rs' : 'msg'),
      index: items++,
      text: '',
      signed: [],
    };
    speech = opened;
    const item =
      kind === 'thought' ? reasoningItem(opened.id, '', []) : messageItem(opened.id, [], 'in_progress');
    out.push(event('response.output_item.added', { output_index: opened.index, item }));
    if (kind === 'thought') return out;
    const part = kind === 'text' ? textPart('') : refusalPart('');
    return [...out, event('response.content_part.added', { ...placeOf(opened), part })];
  }

  /** Ends the item that text is added to. */
  function hush(status: ItemStatus): ResponseEvent[] {
    if (!speech) return [];
    const { kind, id, index, text, signed } = speech;
    const place = placeOf(speech);
    speech = undefined;
    if (kind === 'thought') {
      const part = { type: 'summary_text', text };
      const summary = [
        event('response.reasoning_summary_text.done', { ...place, text }),
        event('response.reasoning_summary_part.done', { ...place, part }),
      ];
      return [...(text === '' ? [] : summary), done(index, reasoningItem(id, text, signed))];
    }
    const isText = kind === 'text';
    const part = isText ? textPart(text) : refusalPart(text);
    const said = isText ? { text, logprobs: [] } : { refusal: text };
    return [
      event(`response.${NAMES[kind]}.done`, { ...place, ...said }),
      event('response.content_part.done', { ...place, part }),
      done(index, messageItem(id, [part], status)),
    ];
  }

  function sign(blocks: Json[]): ResponseEvent[] {
    if (blocks.length === 0) return [];
    const out = open('thought');
    speech?.signed.push(...blocks);
    return out;
  }

  function call(piece: Json): ResponseEvent[] {
    const { name, arguments: args } = isObject(piece.function) ? piece.function : {};
    const out: ResponseEvent[] = [];
    let found = calls.findLast(({ key }) => key === piece.index);
    if (!found || beginsCall(piece, found.call.callId)) {
      out.push(...hush('completed'));
      found = { call: newCall(piece.id, name, options), index: items++, key: piece.index };
      calls.push(found);
      const item = callItem(found.call, 'in_progress', options);
      out.push(event('response.output_item.added', { output_index: found.index, item }));
    }
    if (typeof args !== 'string' || args === '') return out;
    found.call.args += args;
    // Of a custom tool's text nothing can be told before its JSON is whole.
    if (isCustom(found.call, options)) return out;
    const place = { output_index: found.index, item_id: found.call.id };
    return [...out, event('response.function_call_arguments.delta', { ...place, delta: args })];
  }

  function endCall({ call, index }: OpenCall, status: ItemStatus): ResponseEvent[] {
    const place = { output_index: index, item_id: call.id };
    if (call.args === '' && status === 'completed') call.args = '{}';
    const item = callItem(call, status, options);
    if (isCustom(call, options)) {
      const { input } = item;
      return [
        event('response.custom_tool_call_input.delta', { ...place, delta: input }),
        event('response.custom_tool_call_input.done', { ...place, input }),
        done(index, item),
      ];
    }
    const { name, arguments: args } = item;
    return [
      event('response.function_call_arguments.done', { ...place, name, arguments: args }),
      done(index, item),
    ];
  }

  function fail(error: unknown): ResponseEvent[] {
    over = true;
    const message = isObject(error) ? error.message : error;
    const failed = { code: 'server_error', message: String(message).slice(0, 2_000) };
    const out = begin({});
    return [
      ...out,
      event('response.failed', {
        response: { ...response, status: 'failed', error: failed, output: output.filter(Boolean) },
      }),
    ];
  }

  return {
    add(chunk) {
      if (over) return [];
      if (chunk.error !== undefined && chunk.error !== null) return fail(chunk.error);
      if (isObject(chunk.usage)) usage = chunk.usage;
      const out = begin(chunk);
      for (const { delta, finish_reason } of objectsIn(chunk.choices)) {
        const said = isObject(delta) ? delta : {};
        out.push(...speak('thought', reasoningOf(said)));
        out.push(...sign(objectsIn(said.thinking_blocks)));
        out.push(...speak('text', textIn(said.content)));
        out.push(...speak('refusal', typeof said.refusal === 'string' ? said.refusal : ''));
        out.push(...objectsIn(said.tool_calls).flatMap(call));
        if (typeof finish_reason === 'string') finish = finish_reason;
      }
      return out;
    },
    end() {
      if (over || finish === undefined) return [];
      over = true;
      const ending = endingOf(finish);
      const status = ending.status === 'completed' ? 'completed' : 'incomplete';
      const out = [...hush(status), ...calls.flatMap((each) => endCall(each, status))];
      const whole = { ...response, ...ending, output, usage: responseUsage(usage) };
      return [...out, event(`response.${String(ending.status)}`, { response: whole })];
    },
  };
}

/** What the events of each kind of text are called. */
const NAMES = { text: 'output_text', refusal: 'refusal', thought: 'reasoning_summary_text' } as const;

function placeOf({ kind, id, index }: Speech): Json {
  const part = kind === 'thought' ? { summary_index: 0 } : { content_index: 0 };
  return { item_id: id, output_index: index, ...part };
}
