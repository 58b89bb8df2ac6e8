/** The events that webhooks can subscribe to. The positions are stored as bits: append, never reorder. */
export const EVENT_TYPES = [
  'budget.threshold_reached',
  'budget.exceeded',
  'budget.reset',
  'request.blocked',
  'request.approval_requested',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** What a webhook gets that names no events: questions are only for those who answer them. */
export const DEFAULT_EVENTS = EVENT_TYPES.filter((type) => type !== 'request.approval_requested');
