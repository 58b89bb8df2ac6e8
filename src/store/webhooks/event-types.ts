/** The events that webhooks can subscribe to. The positions are stored as bits: append, never reorder. */
export const EVENT_TYPES = [
  'budget.threshold_reached',
  'budget.exceeded',
  'budget.reset',
  'request.blocked',
  'request.approval_requested',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Events of a webhook that names none: approval requests are only for endpoints that ask for them. */
export const DEFAULT_EVENTS = EVENT_TYPES.filter((type) => type !== 'request.approval_requested');

/** A set of event types as it is stored: a bit for each. */
export function eventBits(events: readonly EventType[]): number {
  return events.reduce((bits, event) => bits | (1 << EVENT_TYPES.indexOf(event)), 0);
}

/** The event types of a stored set, in the order of EVENT_TYPES. */
export const eventsOf = (bits: number): EventType[] => EVENT_TYPES.filter((_, index) => bits & (1 << index));
