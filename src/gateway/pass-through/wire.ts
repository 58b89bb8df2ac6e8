import { isObject } from '../../json/object.ts';
import { addUsage } from '../../wire/answer/add-usage.ts';
import { dataIn, describeError, parseObject } from '../../wire/answer/events.ts';
import type { InspectedEvents } from '../../wire/answer/inspected-events.ts';
import { usageMember } from '../../wire/answer/usage-member.ts';
import { TEXT_ONLY } from '../../wire/request/non-text-input.ts';
import { renameModel } from '../../wire/request/parse.ts';
import type { Wire } from '../../wire/wire.ts';
import type { Costs } from './costs.ts';

/** The adapter for answers of any kind: it looks for usage where APIs commonly put it, and counts nothing itself. */
export function passThroughWire(endpoint: string, costs: Costs): Wire {
  const isFree = costs === 'nothing';
  return {
    endpoint,
    family: 'openai',
    path: '',
    unreported: isFree ? 'free' : 'unmetered',
    parse() {
      throw new Error('what is passed through is not parsed');
    },
    renameModel,
    limitOutput: () => [],
    // What is read again, a stored answer for one, was billed when it was made.
    usageOf: isFree ? () => undefined : usageMember,
    inspect: isFree ? (events) => ({ pass: events }) : inspectAnyEvents,
    textOf: () => [],
    promptOf: () => ({ texts: [], items: 0, tokens: 0, nonText: TEXT_ONLY }),
  };
}

const USAGE = Buffer.from('"usage"');
const ERROR = Buffer.from('"error"');

function inspectAnyEvents(events: Buffer): InspectedEvents {
  const result: InspectedEvents = { pass: events };
  if (events.indexOf(USAGE) < 0 && events.indexOf(ERROR) < 0) return result;
  for (const data of dataIn(events)) {
    const value = parseObject(data);
    const usage = value?.usage ?? (isObject(value?.response) ? value.response.usage : undefined);
    if (isObject(usage)) result.usage = addUsage(result.usage, usage);
    if (isObject(value?.error)) result.error = describeError(value.error);
  }
  return result;
}
