/** The events that webhooks can subscribe to. The positions are stored as bits: append, never reorder. */
export const EVENT_TYPES = [
  'budget.threshold_reached',
  'budget.exceeded',
  'budget.reset',
  'request.blocked',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
