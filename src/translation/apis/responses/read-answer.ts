import { isObject, objectsIn } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import type { AnswerEvent, AnswerReader, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import { asText, countIn, type Json } from '../../json.ts';

interface OpenItem {
  /** Of a call. */
  key: number;
  hasText: boolean;
}

/** Reads responses: https://developers.openai.com/api/reference/resources/responses/streaming-events */
export class ResponsesAnswerReader implements AnswerReader {
  /** By `output_index`. */
  readonly #items = new Map<unknown, OpenItem>();
  #calls = 0;
  #hasBegun = false;
  #hasEnded = false;

  event(data: string): AnswerEvent[] {
    const event = parseObject(data);
    return event ? this.#add(event) : [];
  }

  /** A response that is whole says so itself. */
  end(): AnswerEvent[] {
    return [];
  }

  whole(response: Json): AnswerEvent[] {
    return this.#close(response);
  }

  #add(event: Json): AnswerEvent[] {
    const { type, output_index: index, delta } = event;
    const text = typeof delta === 'string' ? delta : '';
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        return this.#begin(event.response);
      case 'response.output_item.added':
        return isObject(event.item) ? this.#open(index, event.item) : [];
      case 'response.output_text.delta':
        return this.#text(index, 'text', text);
      case 'response.refusal.delta':
        return this.#text(index, 'refusal', text);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#text(index, 'reasoning', text);
      case 'response.function_call_arguments.delta': {
        const item = this.#items.get(index);
        if (!item || text === '') return [];
        item.hasText = true;
        return [{ type: 'arguments', key: item.key, text }];
      }
      // Some hosts have the arguments here alone.
      case 'response.function_call_arguments.done': {
        const item = this.#items.get(index);
        if (!item || item.hasText || typeof event.arguments !== 'string') return [];
        item.hasText = true;
        return [{ type: 'arguments', key: item.key, text: event.arguments }];
      }
      case 'response.output_item.done':
        return isObject(event.item) ? this.#done(index, event.item) : [];
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return isObject(event.response) ? this.#close(event.response) : [];
      case 'error':
        return [{ type: 'error', error: event.error ?? event }];
      case 'keepalive':
        return [{ type: 'ping' }];
      default:
        return [];
    }
  }

  #begin(response: unknown): AnswerEvent[] {
    if (this.#hasBegun || !isObject(response)) return [];
    this.#hasBegun = true;
    return [{ type: 'start', id: response.id, model: response.model, created: response.created_at }];
  }

  #open(index: unknown, item: Json): AnswerEvent[] {
    if (this.#items.has(index)) return [];
    const isCall = item.type === 'function_call';
    this.#items.set(index, { key: isCall ? this.#calls++ : -1, hasText: false });
    if (!isCall) return [];
    const key = this.#calls - 1;
    return [{ type: 'call', key, id: asText(item.call_id), name: asText(item.name) }];
  }

  #text(index: unknown, type: 'text' | 'refusal' | 'reasoning', text: string): AnswerEvent[] {
    if (text === '') return [];
    const item = this.#items.get(index) ?? { key: -1, hasText: true };
    item.hasText = true;
    this.#items.set(index, item);
    return [{ type, text }];
  }

  /** What of an item has not been told in pieces. */
  #done(index: unknown, item: Json): AnswerEvent[] {
    const events = this.#open(index, item);
    const { key, hasText } = this.#items.get(index) ?? { key: -1, hasText: false };
    this.#items.set(index, { key, hasText: true });
    switch (item.type) {
      case 'message':
        return hasText ? events : [...events, ...objectsIn(item.content).flatMap(contentEvents)];
      case 'reasoning': {
        const { type, id, summary, encrypted_content } = item;
        const text = objectsIn(summary)
          .map((part) => asText(part.text ?? ''))
          .join('\n\n');
        if (!hasText && text !== '') events.push({ type: 'reasoning', text });
        if (typeof encrypted_content === 'string' && encrypted_content !== '') {
          const values = [{ type, id, summary: Array.isArray(summary) ? summary : [], encrypted_content }];
          events.push({ type: 'seal', seal: { kind: 'encrypted', values } });
        }
        return events;
      }
      case 'function_call':
        return hasText ? events : [...events, { type: 'arguments', key, text: asText(item.arguments ?? '') }];
      default:
        return events;
    }
  }

  #close(response: Json): AnswerEvent[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    const events = this.#begin(response);
    const output = objectsIn(response.output);
    output.forEach((item, index) => {
      if (!this.#items.get(index)?.hasText) events.push(...this.#done(index, item));
    });
    if (isObject(response.usage)) events.push({ type: 'usage', usage: usageOf(response.usage) });
    if (response.status === 'failed') return [...events, { type: 'error', error: response.error }];
    return [...events, { type: 'end', reason: endReason(response) }];
  }
}

function contentEvents({ type, text, refusal }: Json): AnswerEvent[] {
  if (type === 'output_text' && typeof text === 'string' && text !== '') return [{ type: 'text', text }];
  return type === 'refusal' && typeof refusal === 'string' ? [{ type: 'refusal', text: refusal }] : [];
}

function endReason({ status, incomplete_details: details }: Json): EndReason {
  if (status !== 'incomplete') return 'stop';
  return isObject(details) && details.reason === 'content_filter' ? 'filter' : 'length';
}

function usageOf(usage: Json): AnswerUsage {
  const input = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {};
  const output = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  return {
    input: countIn(usage.input_tokens),
    cached: countIn(input.cached_tokens),
    written: countIn(input.cache_write_tokens),
    output: countIn(usage.output_tokens),
    reasoning: countIn(output.reasoning_tokens),
  };
}
