import type { Range } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { dataOfEvent, endOfEvent } from '../../sse/frame.ts';

/** One event of a stream and its byte range. */
export interface EventAt extends Range {
  data: string;
}

/** The events of a buffer. An incomplete event at the end counts as one. */
export function* eventsIn(events: Buffer): Generator<EventAt> {
  for (let start = 0; start < events.length; ) {
    const eventEnd = endOfEvent(events, start);
    const end = eventEnd < 0 ? events.length : eventEnd;
    yield { start, end, data: dataOfEvent(events.subarray(start, end)) };
    start = end;
  }
}

export function dataIn(events: Buffer): string[] {
  return plainData(events.toString('utf8')) ?? Array.from(eventsIn(events), ({ data }) => data);
}

const DATA = 'data: ';

/** Fast path (four times as fast) for streams with one `data` line per event; undefined for other streams. */
function plainData(text: string): string[] | undefined {
  if (text.includes('\r')) return undefined;
  const data: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    if (!text.startsWith(DATA, start) || text[end + 1] !== '\n') return undefined;
    data.push(text.slice(start + DATA.length, end));
    start = end + 2;
  }
  return data;
}

/** The JSON object of each event. Events without one are skipped. */
export function* valuesIn(events: Buffer): Generator<Record<string, unknown>> {
  for (const data of dataIn(events)) {
    const value = parseObject(data);
    if (value) yield value;
  }
}

/** The JSON object in a text; undefined if there is none. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The bytes without the ranges, which must be in order. Without ranges, returns the same buffer. */
export function without(events: Buffer, ranges: readonly Range[]): Buffer {
  if (ranges.length === 0) return events;
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end } of ranges) {
    parts.push(events.subarray(from, start));
    from = end;
  }
  parts.push(events.subarray(from));
  return Buffer.concat(parts);
}

/** A provider's error message, cut to 500 characters. */
export function describeError(error: unknown): string {
  const message = isObject(error) ? error.message : error;
  return typeof message === 'string' ? message.slice(0, 500) : 'error';
}

/** Writes events named by their type, as in Anthropic's messages and OpenAI's responses. */
export function namedEvents(values: readonly { type: string; [field: string]: unknown }[]): Buffer {
  return Buffer.from(
    values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join(''),
  );
}
