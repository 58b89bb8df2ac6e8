import { EVENT_TYPES, type EventType } from './event-types.ts';

/** A set of event types as it is stored: a bit for each. */
export function eventBits(events: readonly EventType[]): number {
  return events.reduce((bits, event) => bits | (1 << EVENT_TYPES.indexOf(event)), 0);
}

/** The event types of a stored set, in the order of EVENT_TYPES. */
export function eventsOf(bits: number): EventType[] {
  return EVENT_TYPES.filter((_, index) => bits & (1 << index));
}
