import type { Delivery } from '../store/webhooks/delivery-log.ts';
import type { Endpoint } from '../store/webhooks/endpoints.ts';
import { maskUrl } from './format/recognise.ts';

const endpointId = (id: number) => `wh_${id}`;
const deliveryId = (id: number) => `dlv_${id}`;

/** Parses an id such as `wh_3`, or a plain `3`; undefined if invalid. */
export function parseId(text: string, prefix: 'wh' | 'dlv'): number | undefined {
  const match = new RegExp(`^(?:${prefix}_)?([1-9]\\d{0,14})$`).exec(text);
  return match ? Number(match[1]) : undefined;
}

export type EndpointView = ReturnType<typeof viewEndpoint>;

/** A webhook in HTTP responses and `--json`, without its secret and with a masked chat URL. */
export function viewEndpoint(endpoint: Endpoint, now: number) {
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
    // End of the old secret's validity; null if there is no rotation.
    previous_secret_expires_at: oldSecretUntil !== null && now < oldSecretUntil ? time(oldSecretUntil) : null,
  };
}

export type DeliveryView = ReturnType<typeof viewDelivery>;

/** A delivery in HTTP responses and `--json`. */
export function viewDelivery(delivery: Delivery) {
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

/** `status_reason`: why nothing is delivered; null if enabled. */
function statusOf({ disabledAt, disabledReason, plan, project }: Endpoint) {
  if (disabledAt !== null) return { status: 'disabled' as const, status_reason: disabledReason };
  if (plan !== 'free') return { status: 'enabled' as const, status_reason: null };
  return {
    status: 'paused' as const,
    status_reason: `project ${project} is on the free plan. Run: gw plan set pro -p ${project}`,
  };
}

const time = (timeMs: number) => new Date(timeMs).toISOString();
const timeOrNull = (timeMs: number | null) => (timeMs === null ? null : time(timeMs));
