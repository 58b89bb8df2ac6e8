import { describeError, eventsIn, isObject, parseObject, valuesIn } from './events.ts';
import { collectStrings } from './prompt.ts';
import type { InspectedEvents } from './wire.ts';

/** The events that end a stream; each holds the response with its usage. */
const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed']);
/** Deltas hold neither; the few events that do are looked at. */
const MARKS = ['"response"', '"error"'].map((mark) => Buffer.from(mark));

/** Looks for the event that ends a stream, and for errors. All others pass by reference, unparsed. */
export function inspectResponseEvents(events: Buffer): InspectedEvents {
  if (!MARKS.some((mark) => events.indexOf(mark) >= 0)) return { pass: events };
  for (const { start, data } of eventsIn(events)) {
    const value = parseObject(data);
    if (value?.type === 'error') return { pass: events, error: describeError(value.error ?? value) };
    if (typeof value?.type !== 'string' || !LAST.has(value.type)) continue;
    const response = isObject(value.response) ? value.response : {};
    return {
      pass: events.subarray(0, start),
      closing: events.subarray(start),
      usage: response.usage ?? undefined,
      ...(response.error ? { error: describeError(response.error) } : {}),
    };
  }
  return { pass: events };
}

/** What was generated: texts, refusals, reasoning, and the arguments of tool calls. */
export function responseText(answer: Buffer, stream: boolean): string[] {
  const texts: string[] = [];
  if (!stream) {
    collectStrings(parseObject(answer.toString('utf8'))?.output, texts);
    return texts;
  }
  for (const { type, delta } of valuesIn(answer)) {
    if (typeof type === 'string' && type.endsWith('.delta')) collectStrings(delta, texts);
  }
  return [texts.join('')];
}
