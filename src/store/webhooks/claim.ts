import type { Row } from '../database/columns.ts';
import type { Endpoint } from './endpoints.ts';
import type { EventType } from './event-types.ts';

/**
 * A claimed delivery: the right to make one attempt, with the event, its destination and its signing secrets. `claims` is
 * the number of this claim, whose outcome is ignored once there is a later one.
 */
export interface Claim
  extends Pick<Row<'deliveries'>, 'id' | 'claims' | 'attempts' | 'endpointId' | 'eventCount'>,
    Pick<Endpoint, 'url' | 'format' | 'secret' | 'oldSecret' | 'oldSecretUntil' | 'project'> {
  /** When another daemon may claim the delivery. */
  lapsesAt: number;
  eventId: string;
  type: EventType;
  eventAt: number;
  /** The event's data, as JSON. */
  data: string;
  /** The time of the first event; only summaries of blocked requests have more than one. */
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
