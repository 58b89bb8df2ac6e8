/** What gw tells webhooks of. The places are stored (a subscription is a bit for each): append, never reorder. */
export const EVENT_TYPES = [
  'budget.threshold_reached',
  'budget.exceeded',
  'budget.reset',
  'request.blocked',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
