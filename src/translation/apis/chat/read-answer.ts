import { isObject, objectsIn } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import type { AnswerEvent, AnswerReader, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import { asText, countIn, type Json, lookUp } from '../../json.ts';
import { plainId } from '../../repair/ids.ts';

/** A tool call, whose name and arguments may come in pieces. */
interface OpenCall {
  key: number;
  /** Where its pieces are: the choice and the call's index. */
  place: string;
  /** The provider's id; '' if it has none. */
  id: string;
  name: string;
  args: string;
  /** The client knows of it. */
  isTold: boolean;
}

/** Reads chat completions, with the oddities of the hosts that have the API. */
export class ChatAnswerReader implements AnswerReader {
  readonly #newId: (prefix: string) => string;
  readonly #calls: OpenCall[] = [];
  #hasBegun = false;
  #hasEnded = false;
  #finishReason: unknown;
  /** OpenRouter's details of the reasoning so far, which come in pieces. */
  #details: Json[] = [];

  constructor(newId: (prefix: string) => string) {
    this.#newId = newId;
  }

  event(data: string): AnswerEvent[] {
    if (data === '[DONE]') return this.end(true);
    const chunk = parseObject(data);
    return chunk ? this.#add(chunk, 'delta') : [];
  }

  whole(answer: Json): AnswerEvent[] {
    return [...this.#add(answer, 'message'), ...this.end(true)];
  }

  /** None if the stream had neither a finish reason nor an end, `[DONE]`. */
  end(isDone = false): AnswerEvent[] {
    if (this.#hasEnded || !this.#hasBegun || (this.#finishReason === undefined && !isDone)) return [];
    this.#hasEnded = true;
    return [...this.#sealDetails(), { type: 'end', reason: endReason(this.#finishReason) }];
  }

  #add(chunk: Json, field: 'delta' | 'message'): AnswerEvent[] {
    if (this.#hasEnded) return [];
    if (chunk.error) {
      this.#hasEnded = true;
      return [{ type: 'error', error: chunk.error }];
    }
    const events: AnswerEvent[] = [];
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      events.push({ type: 'start', id: chunk.id, model: chunk.model, created: chunk.created });
    }
    const choices = objectsIn(chunk.choices);
    for (const choice of choices) {
      const message = choice[field] ?? choice.message ?? choice.delta;
      if (isObject(message)) this.#addMessage(message, choice.index, events);
      if (typeof choice.finish_reason === 'string') this.#finishReason = choice.finish_reason;
    }
    const usage = usageIn(chunk, choices);
    if (usage) events.push({ type: 'usage', usage });
    return events;
  }

  /** Every chunk of a stream comes here, most with a text alone. */
  #addMessage(message: Json, choice: unknown, events: AnswerEvent[]): void {
    const { reasoning_details, reasoning_opaque, thinking_blocks, content, refusal, tool_calls } = message;
    const details = reasoning_details === undefined ? NONE : objectsIn(reasoning_details);
    for (const detail of details) addDetail(this.#details, detail);
    addText(events, 'reasoning', reasoningOf(message, details));
    if (typeof reasoning_opaque === 'string')
      events.push({ type: 'seal', seal: { kind: 'opaque', values: [{ reasoning_opaque }] } });
    const signed = thinking_blocks === undefined ? NONE : objectsIn(thinking_blocks);
    if (signed.length > 0) events.push({ type: 'seal', seal: { kind: 'thinking', values: signed } });
    const before = events.length;
    addText(events, 'text', textIn(content));
    if (typeof refusal === 'string') addText(events, 'refusal', refusal);
    if (tool_calls !== undefined)
      objectsIn(tool_calls).forEach((piece, i) => void events.push(...this.#addCall(piece, choice, i)));
    if (this.#details.length > 0 && events.length > before) events.splice(before, 0, ...this.#sealDetails());
  }

  #sealDetails(): AnswerEvent[] {
    const values = this.#details;
    if (values.length === 0) return [];
    this.#details = [];
    return [{ type: 'seal', seal: { kind: 'details', values } }];
  }

  /** Some hosts give all calls one index, some no ids, and some the name only later. */
  #addCall(piece: Json, choice: unknown, position: number): AnswerEvent[] {
    const fn = isObject(piece.function) ? piece.function : {};
    const name = typeof fn.name === 'string' ? fn.name : '';
    const id = typeof piece.id === 'string' ? piece.id : '';
    const args = argumentsIn(fn);
    const place = `${asText(choice ?? 0)} ${asText(piece.index ?? position)}`;
    let call = this.#calls.findLast((each) => each.place === place);
    if (!call || isAnother(call, { id, name, args })) {
      call = { key: this.#calls.length, place, id, name: '', args: '', isTold: false };
      this.#calls.push(call);
    }
    call.id ||= id;
    call.args += args;
    if (call.isTold) return args === '' ? [] : [{ type: 'arguments', key: call.key, text: args }];
    call.name ||= name;
    if (call.name === '') return [];
    call.isTold = true;
    return this.#tell(call, piece.extra_content);
  }

  #tell(call: OpenCall, extra_content: unknown): AnswerEvent[] {
    const { key, name, args } = call;
    const id = call.id === '' ? this.#newId('call') : plainId(call.id);
    const values = [{ id, extra_content }];
    return [
      ...(isObject(extra_content) ? [{ type: 'seal', seal: { kind: 'calls', values } } as const] : []),
      { type: 'call', key, id, name },
      ...(args === '' ? [] : [{ type: 'arguments', key, text: args } as const]),
    ];
  }
}

/** Adds a piece to the detail that it continues: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens */
function addDetail(details: Json[], piece: Json): void {
  const last = details.at(-1);
  if (!last || last.type !== piece.type || last.index !== piece.index) {
    details.push({ ...piece });
    return;
  }
  for (const [field, value] of Object.entries(piece)) {
    const before = last[field];
    const isText = field === 'text' || field === 'summary' || field === 'data';
    if (isText && typeof before === 'string' && typeof value === 'string') last[field] = before + value;
    else if (value !== null) last[field] = value;
  }
}

/** Whether a piece at the place of a call begins another one: it has an id or a name of its own. */
function isAnother(call: OpenCall, { id, name, args }: Pick<OpenCall, 'id' | 'name' | 'args'>): boolean {
  if (name === '' || call.name === '') return false;
  if (id !== '' && call.id !== '') return id !== call.id;
  return name !== call.name || (args.startsWith('{') && parseObject(call.args) !== undefined);
}

const NONE: readonly Json[] = [];

function addText(events: AnswerEvent[], type: 'text' | 'refusal' | 'reasoning', text: string): void {
  if (text !== '') events.push({ type, text });
}

/** The reasoning of a message. Providers use four names for the field. */
function reasoningOf(
  { reasoning_content, reasoning, reasoning_text }: Json,
  details: readonly Json[],
): string {
  if (typeof reasoning_content === 'string') return reasoning_content;
  if (typeof reasoning === 'string') return reasoning;
  if (typeof reasoning_text === 'string') return reasoning_text;
  return details.map(({ text, summary }) => asText(text ?? summary ?? '')).join('');
}

/** The text of a message, which some providers send in parts. */
function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

/** The arguments of a call, or a piece of them; some hosts send the object itself instead of its JSON. */
function argumentsIn({ arguments: args }: Json): string {
  if (isObject(args)) return JSON.stringify(args);
  return typeof args === 'string' ? args : '';
}

/** Beside the choices, in the first of them (Moonshot), or with Groq's own fields. */
function usageIn({ usage, x_groq }: Json, [choice]: readonly Json[]): AnswerUsage | undefined {
  const found = usage ?? choice?.usage ?? (isObject(x_groq) ? x_groq.usage : undefined);
  return isObject(found) ? usageOf(found) : undefined;
}

function usageOf(usage: Json): AnswerUsage {
  const prompt = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completion = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  return {
    input: countIn(usage.prompt_tokens),
    cached: countIn(prompt.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens),
    written: countIn(prompt.cache_write_tokens),
    output: countIn(usage.completion_tokens),
    reasoning: countIn(completion.reasoning_tokens),
  };
}

const REASONS: Readonly<Record<string, EndReason>> = {
  length: 'length',
  content_filter: 'filter',
  tool_calls: 'calls',
  function_call: 'calls',
};

const endReason = (reason: unknown): EndReason => lookUp(REASONS, asText(reason ?? '')) ?? 'stop';
