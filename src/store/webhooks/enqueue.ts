import type { Db } from '../database/open.ts';
import { type EventType, eventBits } from './event-types.ts';
/** An event of the running transaction. */
export interface NewEvent {
  sequence: number;
  type: EventType;
  projectId: number;
  createdAt: number;
}

/**
 * Queues an event, in the transaction that writes it, for each enabled endpoint of its project that subscribes to it.
 * Nothing is cached: an index lookup is cheap and never stale. Requests may be blocked by the thousand, so they are
 * counted in a summary instead of queued one by one.
 */
export function createEnqueue(db: Db): (event: NewEvent) => void {
  const subscribed =
    'FROM webhook_endpoints WHERE project_id = ? AND disabled_at IS NULL AND (events & ?) <> 0';
  const hasEndpoints = db.prepare<[number, number], number>(`SELECT EXISTS (SELECT 1 ${subscribed})`).pluck();
  const queue = db.prepare<[number, number, number, number, number]>(
    `INSERT INTO deliveries (endpoint_id, sequence, due_at, created_at) SELECT id, ?, ?, ? ${subscribed}`,
  );
  const dropOldest = createDropOldest(db);
  const count = db.prepare<[number, number, number, number, number]>(`
    INSERT INTO blocked_summaries (endpoint_id, event_count, first_sequence, sequence, due_at)
    SELECT id, 1, ?, ?, ? ${subscribed}
    ON CONFLICT DO UPDATE SET event_count = event_count + 1, sequence = max(sequence, excluded.sequence),
    first_sequence = iif(event_count = 0, excluded.first_sequence, min(first_sequence, excluded.first_sequence))`);
  return ({ sequence, type, projectId, createdAt }) => {
    const bits = eventBits([type]);
    if (hasEndpoints.get(projectId, bits) !== 1) return;
    if (type !== 'request.blocked') {
      queue.run(sequence, createdAt, createdAt, projectId, bits);
      dropOldest(projectId, createdAt);
      return;
    }
    count.run(sequence, sequence, createdAt, projectId, bits);
  };
}

/** Deliveries that may wait for an endpoint, such as one whose project is on the free plan for a time. */
const MAX_WAITING = 1_000;

/** Fails the oldest deliveries of endpoints for which too many wait. They stay on record, and can be replayed. */
function createDropOldest(db: Db): (projectId: number, now: number) => void {
  const waiting = 'd.endpoint_id = e.id AND d.finished_at IS NULL';
  const full = db
    .prepare<[number], number>(`SELECT e.id FROM webhook_endpoints e WHERE e.project_id = ?
      AND (SELECT count(*) FROM deliveries d WHERE ${waiting}) > ${MAX_WAITING}`)
    .pluck();
  const drop = db.prepare<{ now: number; endpointId: number }>(`
    UPDATE deliveries SET state = 'failed', finished_at = @now,
    error = 'dropped unsent: more than ${MAX_WAITING} later events were waiting for this webhook'
    WHERE state = 'pending' AND id IN (SELECT id FROM deliveries WHERE endpoint_id = @endpointId
    AND finished_at IS NULL ORDER BY id DESC LIMIT -1 OFFSET ${MAX_WAITING})`);
  return (projectId, now) => {
    for (const endpointId of full.all(projectId)) drop.run({ now, endpointId });
  };
}
