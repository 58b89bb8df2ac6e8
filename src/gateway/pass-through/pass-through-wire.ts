import { isObject } from '../../json/object.ts';
import { addUsage } from '../../wire/answer/add-usage.ts';
import { dataIn, describeError, parseObject } from '../../wire/answer/events.ts';
import type { InspectedEvents } from '../../wire/answer/inspected-events.ts';
import { usageMember } from '../../wire/answer/usage-member.ts';
import type { PassThroughWire } from '../../wire/wire.ts';
import type { Costs } from './endpoints.ts';

/** Reads answers of any API: takes usage from where APIs commonly report it, and never counts tokens itself. */
export function passThroughWire(endpoint: string, costs: Costs): PassThroughWire {
  const isStored = costs === 'stored';
  return {
    endpoint,
    unreported: costs === 'unknown' ? 'unmetered' : 'free',
    // Fetching something again, such as a stored answer, is free: it was billed when it was generated.
    usageOf: isStored ? () => undefined : usageMember,
    inspect: isStored ? (events) => ({ pass: events }) : inspectAnyEvents,
    textOf: () => [],
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
