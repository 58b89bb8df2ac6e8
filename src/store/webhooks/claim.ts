import type { WebhookFormat } from './endpoints.ts';
import type { EventType } from './event-types.ts';

/** A claimed delivery: the right to make one attempt, with the event, its destination and its signing secrets. */
export interface Claim {
  id: number;
  /** The number of this claim; its outcome is ignored once there is a later claim. */
  claims: number;
  /** When another daemon may claim the delivery. */
  lapsesAt: number;
  /** Attempts that ended before this one. */
  attempts: number;
  endpointId: number;
  url: string;
  format: WebhookFormat;
  secret: string;
  oldSecret: string | null;
  oldSecretUntil: number | null;
  project: string;
  eventId: string;
  type: EventType;
  eventAt: number;
  /** The event's data, as JSON. */
  data: string;
  /** The number of events, and the time of the first; only summaries of blocked requests have more than one. */
  eventCount: number;
  since: number;
}

/** How an attempt ended. */
export interface Attempt {
  /** When it started. */
  at: number;
  durationMs: number;
  /** HTTP status; null if there was no answer. */
  status: number | null;
  error: string | null;
  /** The start of the response body, redacted. */
  response: string | null;
}
