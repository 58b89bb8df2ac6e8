import { isObject } from '../../json/object.ts';
import { dataOfEvent, endOfEvent } from '../../sse/frame.ts';

/** One event of a stream, by where it stands. */
export interface EventAt {
  start: number;
  end: number;
  data: string;
}

/** The events of a run of whole ones; what is left of an event at the end counts as one. */
export function* eventsIn(events: Buffer): Generator<EventAt> {
  for (let start = 0; start < events.length; ) {
    const found = endOfEvent(events, start);
    const end = found < 0 ? events.length : found;
    yield { start, end, data: dataOfEvent(events.subarray(start, end)) };
    start = end;
  }
}

/** The data of each event, for those who need not know where it stands. */
export function dataIn(events: Buffer): string[] {
  return plainData(events.toString('utf8')) ?? Array.from(eventsIn(events), ({ data }) => data);
}

const DATA = 'data: ';

/** Nearly all streams are of one kind: a line of data, and the empty one. To cut at those takes a quarter of the time. */
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

/** The JSON of each event; events without any are passed over. */
export function* valuesIn(events: Buffer): Generator<Record<string, unknown>> {
  for (const data of dataIn(events)) {
    const value = parseObject(data);
    if (value) yield value;
  }
}

/** The JSON object of a text; undefined if it is none. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The bytes without the ranges, which are in order; without ranges, the very same bytes. */
export function without(events: Buffer, ranges: readonly { start: number; end: number }[]): Buffer {
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

/** What a provider's error object says, for the record. */
export function describeError(error: unknown): string {
  const message = isObject(error) ? error.message : error;
  return typeof message === 'string' ? message.slice(0, 500) : 'error';
}

/** Events that are named by their type, as Anthropic writes them and OpenAI those of responses. */
export function namedEvents(values: readonly { type: string; [field: string]: unknown }[]): Buffer {
  return Buffer.from(
    values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join(''),
  );
}
