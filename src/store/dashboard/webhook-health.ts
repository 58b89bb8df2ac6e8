import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';

/** The health of a webhook. Its URL may contain a secret, so only the host is shown. */
export interface WebhookHealth {
  id: number;
  project: string;
  host: string;
  format: string;
  /** Why nothing is sent; null if the webhook is enabled. */
  disabledReason: string | null;
  /** Failed deliveries that were not replayed, among the newest thousand. */
  failed: number;
  /** Open deliveries, and when the first of them is due. */
  open: number;
  dueAt: number | null;
  /** The most attempts of an open delivery. */
  attempts: number;
  /** The last attempt. */
  attemptedAt: number | null;
  status: number | null;
  error: string | null;
}

interface EndpointRow
  extends Pick<Row<'webhookEndpoints'>, 'id' | 'url' | 'format' | 'disabledAt' | 'disabledReason'> {
  project: string;
  plan: string;
}

type Attempt = Pick<WebhookHealth, 'attemptedAt' | 'status' | 'error'>;

/** Reads the webhooks of all projects, oldest first. */
export function createWebhookReader(db: Db): () => WebhookHealth[] {
  const selectEndpoints = db.prepare<[], EndpointRow>(`
    SELECT e.id, p.name AS project, p.plan, e.url, e.format, e.disabled_at AS disabledAt,
    e.disabled_reason AS disabledReason FROM webhook_endpoints e JOIN projects p ON p.id = e.project_id
    WHERE p.removed_at IS NULL ORDER BY e.id`);
  const countFailed = db
    .prepare<[number], number>(`SELECT count(*) FROM (SELECT state, replayed_at FROM deliveries
      WHERE endpoint_id = ? ORDER BY id DESC LIMIT 1000) WHERE state = 'failed' AND replayed_at IS NULL`)
    .pluck();
  const selectOpen = db.prepare<[number], Pick<WebhookHealth, 'open' | 'dueAt' | 'attempts'>>(`
    SELECT count(*) AS open, min(due_at) AS dueAt, coalesce(max(attempts), 0) AS attempts FROM deliveries
    WHERE endpoint_id = ? AND finished_at IS NULL`);
  const selectAttempt = db.prepare<[number], Attempt>(`SELECT attempted_at AS attemptedAt, status, error
    FROM deliveries WHERE endpoint_id = ? AND attempted_at IS NOT NULL ORDER BY id DESC LIMIT 1`);
  return () =>
    selectEndpoints.all().map(({ plan, url, disabledAt, disabledReason, ...endpoint }) => ({
      ...endpoint,
      host: new URL(url).host,
      disabledReason: disabledAt !== null ? (disabledReason ?? 'disabled') : planReason(plan),
      failed: countFailed.get(endpoint.id) ?? 0,
      ...(selectOpen.get(endpoint.id) ?? { open: 0, dueAt: null, attempts: 0 }),
      ...(selectAttempt.get(endpoint.id) ?? { attemptedAt: null, status: null, error: null }),
    }));
}

const planReason = (plan: string) => (plan === 'free' ? 'the project is on the free plan' : null);
