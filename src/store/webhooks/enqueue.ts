import type { Db } from '../database/open.ts';
import type { EventType } from './event-types.ts';
import { eventBits } from './subscription.ts';

/** An event of the running transaction. */
export interface NewEvent {
  sequence: number;
  type: EventType;
  projectId: number;
  createdAt: number;
}

/**
 * Queues an event, in the transaction that writes it, for each enabled endpoint of its project that subscribes to it.
 * Nothing is cached: an index lookup is cheap and never stale. Requests may be blocked by the thousand, so chats get
 * them counted in a summary instead of one by one.
 */
export function createEnqueue(db: Db): (event: NewEvent) => void {
  const subscribed =
    'FROM webhook_endpoints WHERE project_id = ? AND disabled_at IS NULL AND (events & ?) <> 0';
  const hasEndpoints = db.prepare<[number, number], number>(`SELECT EXISTS (SELECT 1 ${subscribed})`).pluck();
  const queue = db.prepare<[number, number, number, number, number]>(
    `INSERT INTO deliveries (endpoint_id, sequence, due_at, created_at) SELECT id, ?, ?, ? ${subscribed}`,
  );
  const queueForPrograms = db.prepare<[number, number, number, number, number]>(
    `${queue.source} AND format = 'json'`,
  );
  const count = db.prepare<[number, number, number, number, number]>(
    `INSERT INTO blocked_summaries (endpoint_id, event_count, first_sequence, sequence, due_at)
     SELECT id, 1, ?, ?, ? ${subscribed} AND format <> 'json'
     ON CONFLICT DO UPDATE SET event_count = event_count + 1, sequence = excluded.sequence,
     first_sequence = iif(event_count = 0, excluded.first_sequence, first_sequence)`,
  );
  return ({ sequence, type, projectId, createdAt }) => {
    const bits = eventBits([type]);
    if (hasEndpoints.get(projectId, bits) !== 1) return;
    if (type !== 'request.blocked') {
      queue.run(sequence, createdAt, createdAt, projectId, bits);
      return;
    }
    queueForPrograms.run(sequence, createdAt, createdAt, projectId, bits);
    count.run(sequence, sequence, createdAt, projectId, bits);
  };
}
