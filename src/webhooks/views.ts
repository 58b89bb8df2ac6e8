import type { Delivery } from '../store/webhooks/delivery-log.ts';
import type { Endpoint } from '../store/webhooks/endpoints.ts';
import { maskUrl } from './format/recognise.ts';

/** A webhook in HTTP responses and `--json`, without its secret and with a masked chat URL. */
export interface EndpointView {
  id: string;
  url: string;
  events: string[];
  project_id: string;
  format: string;
  status: 'enabled' | 'disabled' | 'paused';
  /** Reason why nothing is delivered; null if enabled. */
  status_reason: string | null;
  consecutive_failures: number;
  created_at: string;
  /** End of the old secret's validity; null if there is no rotation. */
  previous_secret_expires_at: string | null;
}

export interface DeliveryView {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  /** Above 1 in summaries of blocked requests. */
  event_count: number;
  status: string;
  attempts: number;
  next_attempt_at: string | null;
  last_attempt_at: string | null;
  duration_ms: number | null;
  response_status: number | null;
  response_body: string | null;
  error: string | null;
  created_at: string;
  finished_at: string | null;
  replayed_at: string | null;
}

const endpointId = (id: number) => `wh_${id}`;
const deliveryId = (id: number) => `dlv_${id}`;

/** Parses an id such as `wh_3`, or a plain `3`; undefined if invalid. */
export function parseId(text: string, prefix: 'wh' | 'dlv'): number | undefined {
  const match = new RegExp(`^(?:${prefix}_)?([1-9]\\d{0,14})$`).exec(text);
  return match ? Number(match[1]) : undefined;
}

export function viewEndpoint(endpoint: Endpoint, now: number): EndpointView {
  const { oldSecretUntil } = endpoint;
  return {
    id: endpointId(endpoint.id),
    url: maskUrl(endpoint.url, endpoint.format),
    events: endpoint.events,
    project_id: endpoint.project,
    format: endpoint.format,
    ...statusOf(endpoint),
    consecutive_failures: endpoint.consecutiveFailures,
    created_at: time(endpoint.createdAt),
    previous_secret_expires_at: oldSecretUntil !== null && now < oldSecretUntil ? time(oldSecretUntil) : null,
  };
}

export function viewDelivery(delivery: Delivery): DeliveryView {
  return {
    id: deliveryId(delivery.id),
    webhook_id: endpointId(delivery.endpointId),
    event_id: delivery.eventId,
    event_type: delivery.type,
    event_count: delivery.eventCount,
    status: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: delivery.state === 'pending' ? time(delivery.dueAt) : null,
    last_attempt_at: timeOrNull(delivery.attemptedAt),
    duration_ms: delivery.durationMs,
    response_status: delivery.status,
    response_body: delivery.response,
    error: delivery.error,
    created_at: time(delivery.createdAt),
    finished_at: timeOrNull(delivery.finishedAt),
    replayed_at: timeOrNull(delivery.replayedAt),
  };
}

function statusOf({
  disabledAt,
  disabledReason,
  plan,
  project,
}: Endpoint): Pick<EndpointView, 'status' | 'status_reason'> {
  if (disabledAt !== null) return { status: 'disabled', status_reason: disabledReason };
  if (plan !== 'free') return { status: 'enabled', status_reason: null };
  return {
    status: 'paused',
    status_reason: `project ${project} is on the free plan. Run: gw plan set pro -p ${project}`,
  };
}

const time = (timeMs: number) => new Date(timeMs).toISOString();
const timeOrNull = (timeMs: number | null) => (timeMs === null ? null : time(timeMs));
