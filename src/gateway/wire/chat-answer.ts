import { readValue, scanObject } from '../../json/scan.ts';
import { dataOfEvent, endOfEvent } from '../../sse/frame.ts';
import type { InspectedEvents, WireRequest } from './wire.ts';

const USAGE = Buffer.from('"usage"');
const DONE = Buffer.from('[DONE]');
const ERROR = Buffer.from('"error"');

/** The top-level `usage` of an answer; undefined where there is none or the answer is no JSON object. */
export function usageMember(answer: Buffer): unknown {
  if (answer.indexOf(USAGE) < 0) return undefined;
  try {
    const member = scanObject(answer).find(({ key }) => key === 'usage');
    return member && readValue(answer, member);
  } catch {
    return undefined;
  }
}

/**
 * Looks for the three events that matter: the one with the usage, an error, and `[DONE]`. A run of events with none
 * of their marks in its bytes passes by reference, unparsed.
 */
export function inspectChatEvents(events: Buffer, hideUsage: boolean): InspectedEvents {
  const hasDone = events.indexOf(DONE) >= 0;
  if (!hasDone && !reportsUsage(events) && events.indexOf(ERROR) < 0) return { pass: events };
  const result: InspectedEvents = { pass: events };
  const hidden: { start: number; end: number }[] = [];
  for (let start = 0; start < events.length; ) {
    const found = endOfEvent(events, start);
    const end = found < 0 ? events.length : found;
    const data = dataOfEvent(events.subarray(start, end));
    if (data === '[DONE]') {
      result.closing = events.subarray(start);
      result.pass = without(events.subarray(0, start), hidden);
      return result;
    }
    if (inspectData(data, result) && hideUsage) hidden.push({ start, end });
    start = end;
  }
  if (hidden.length > 0) result.pass = without(events, hidden);
  return result;
}

const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_N = 0x6e;

/** Whether a `"usage"` in the bytes is anything but null, which OpenAI puts into every event but the last. */
function reportsUsage(events: Buffer): boolean {
  for (let at = events.indexOf(USAGE); at >= 0; at = events.indexOf(USAGE, at)) {
    at += USAGE.length;
    while (events[at] === COLON || events[at] === SPACE) at++;
    if (events[at] !== LETTER_N) return true;
  }
  return false;
}

interface ChatChunk {
  choices?: unknown;
  usage?: unknown;
  error?: unknown;
}

/** Notes usage and errors; true for an event that has nothing but the usage. */
function inspectData(data: string, result: InspectedEvents): boolean {
  if (!data.includes('"usage"') && !data.includes('"error"')) return false;
  const chunk = parse(data) as ChatChunk | undefined;
  if (!chunk) return false;
  if (chunk.error) result.error = describe(chunk.error);
  if (typeof chunk.usage !== 'object' || chunk.usage === null) return false;
  result.usage = chunk.usage;
  return Array.isArray(chunk.choices) && chunk.choices.length === 0;
}

function describe(error: unknown): string {
  const message =
    typeof error === 'object' && error !== null ? (error as { message?: unknown }).message : error;
  return typeof message === 'string' ? message.slice(0, 500) : 'error';
}

function without(events: Buffer, hidden: { start: number; end: number }[]): Buffer {
  if (hidden.length === 0) return events;
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end } of hidden) {
    parts.push(events.subarray(from, start));
    from = end;
  }
  parts.push(events.subarray(from));
  return Buffer.concat(parts);
}

/** What was generated: contents, refusals, reasoning and tool calls of all choices. */
export function answerText(answer: Buffer, stream: boolean): string[] {
  const texts: string[] = [];
  for (const value of stream ? dataOf(answer) : [parse(answer.toString('utf8'))]) {
    const choices = (value as { choices?: unknown } | undefined)?.choices;
    if (!Array.isArray(choices)) continue;
    for (const choice of choices) {
      const { message, delta } = (choice ?? {}) as { message?: unknown; delta?: unknown };
      collectStrings(message ?? delta, texts);
    }
  }
  // The deltas of a stream are pieces of one text: counted apart, every piece would cost a token of its own.
  return stream ? [texts.join('')] : texts;
}

/** A chunk that says `length` in the name of the stream's last one, and the end. */
export function endAtLimit(events: Buffer): Buffer {
  let last: Record<string, unknown> = {};
  for (const chunk of dataOf(events)) if (chunk !== undefined) last = chunk as Record<string, unknown>;
  const choices = [{ index: 0, delta: {}, logprobs: null, finish_reason: 'length' }];
  const { id = '', object = 'chat.completion.chunk', created = 0, model = '' } = last;
  const chunk = { id, object, created, model, choices };
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
}

function* dataOf(events: Buffer): Generator<unknown> {
  for (let start = 0; start < events.length; ) {
    const found = endOfEvent(events, start);
    const end = found < 0 ? events.length : found;
    yield parse(dataOfEvent(events.subarray(start, end)));
    start = end;
  }
}

/** Labels that the model did not generate as text. */
const LABELS = new Set(['role', 'type', 'id', 'object']);

function collectStrings(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value);
  else if (Array.isArray(value)) for (const item of value) collectStrings(item, texts);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) if (!LABELS.has(key)) collectStrings(item, texts);
  }
}

/** The prompt's text: of the messages all strings, of tools and formats the JSON. */
export function promptText({ bytes, members }: WireRequest): { texts: string[]; items: number } {
  const texts: string[] = [];
  let items = 0;
  for (const member of members) {
    if (member.key === 'messages') {
      const messages = readValue(bytes, member);
      items += Array.isArray(messages) ? messages.length : 0;
      collectStrings(messages, texts);
    } else if (PROMPT_FIELDS.has(member.key)) {
      items += 1;
      texts.push(bytes.toString('utf8', member.start, member.end));
    }
  }
  return { texts, items };
}

const PROMPT_FIELDS = new Set(['tools', 'functions', 'response_format', 'prediction', 'web_search_options']);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
