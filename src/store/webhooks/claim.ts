import type { WebhookFormat } from './endpoints.ts';
import type { EventType } from './event-types.ts';

/** The right to make one attempt: an event, where it goes, and how it is signed. */
export interface Claim {
  id: number;
  /** Which claim of the delivery this is; its outcome counts only while no later one was made. */
  claims: number;
  /** Until when nobody else takes it up. */
  lapsesAt: number;
  /** Attempts that ended before. */
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
  /** How many events it tells of, and when the first was; more than one in summaries of blocked requests only. */
  eventCount: number;
  since: number;
}

/** How an attempt ended. */
export interface Attempt {
  /** When it began. */
  at: number;
  durationMs: number;
  /** HTTP status; null if there was no answer. */
  status: number | null;
  error: string | null;
  /** The beginning of the answer, redacted. */
  response: string | null;
}
