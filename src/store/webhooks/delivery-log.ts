import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import type { Write } from './endpoints.ts';
import type { EventType } from './event-types.ts';

export type DeliveryState = Row<'deliveries'>['state'];

/** A delivery as it is read back. */
export interface Delivery extends Omit<Row<'deliveries'>, 'sequence' | 'firstSequence' | 'claims'> {
  projectId: number;
  eventId: string;
  type: EventType;
}

export interface DeliveryFilter {
  projectId?: number | undefined;
  endpointId?: number | undefined;
  state?: DeliveryState | undefined;
  /** Events from this time on, UTC milliseconds. */
  since?: number | undefined;
  limit?: number | undefined;
}

const SELECT = `SELECT d.id, d.endpoint_id AS endpointId, v.project_id AS projectId, v.id AS eventId, v.type,
  d.event_count AS eventCount, d.state, d.attempts, d.due_at AS dueAt, d.attempted_at AS attemptedAt,
  d.duration_ms AS durationMs, d.status, d.error, d.response, d.created_at AS createdAt,
  d.finished_at AS finishedAt, d.replayed_at AS replayedAt
  FROM deliveries d JOIN events v ON v.sequence = d.sequence`;

/** The deliveries that match, newest first. */
export async function listDeliveries(db: Db, filter: DeliveryFilter = {}): Promise<Delivery[]> {
  const { clause, values } = conditionsOf(filter);
  return db
    .prepare<(number | string)[], Delivery>(`${SELECT} ${clause} ORDER BY d.id DESC LIMIT ?`)
    .all(...values, filter.limit ?? 50);
}

export async function getDelivery(db: Db, id: number): Promise<Delivery | undefined> {
  return db.prepare<[number], Delivery>(`${SELECT} WHERE d.id = ?`).get(id);
}

/** Sends a finished delivery again, as a new delivery at the end of its endpoint's queue. Returns the new id. */
export function replayDelivery(db: Db, write: Write, id: number, now: number): Promise<number | undefined> {
  return write(() => replay(db, id, now));
}

/** Replays failed deliveries to enabled endpoints that were not replayed yet, oldest first. Returns the new ids. */
export function replayFailed(
  db: Db,
  write: Write,
  filter: Omit<DeliveryFilter, 'state' | 'limit'>,
  now: number,
): Promise<number[]> {
  const { clause, values } = conditionsOf({ ...filter, state: 'failed' });
  return write(() =>
    db
      .prepare<(number | string)[], { id: number }>(`SELECT d.id FROM deliveries d
        JOIN events v ON v.sequence = d.sequence JOIN webhook_endpoints e ON e.id = d.endpoint_id ${clause}
        AND d.replayed_at IS NULL AND e.disabled_at IS NULL ORDER BY d.id`)
      .all(...values)
      .flatMap((row) => replay(db, row.id, now) ?? []),
  );
}

function replay(db: Db, id: number, now: number): number | undefined {
  const { changes } = db
    .prepare<[number, number]>(
      'UPDATE deliveries SET replayed_at = ? WHERE id = ? AND finished_at IS NOT NULL',
    )
    .run(now, id);
  if (changes === 0) return undefined;
  const copy = db.prepare<[number, number, number]>(`
    INSERT INTO deliveries (endpoint_id, sequence, first_sequence, event_count, due_at, created_at)
    SELECT endpoint_id, sequence, first_sequence, event_count, ?, ? FROM deliveries WHERE id = ?`);
  return Number(copy.run(now, now, id).lastInsertRowid);
}

function conditionsOf(filter: DeliveryFilter): { clause: string; values: (number | string)[] } {
  const conditions: [string, number | string | undefined][] = [
    ['v.project_id = ?', filter.projectId],
    ['d.endpoint_id = ?', filter.endpointId],
    ['d.state = ?', filter.state],
    ['v.created_at >= ?', filter.since],
  ];
  const active = conditions.filter((entry): entry is [string, number | string] => entry[1] !== undefined);
  return {
    clause: active.length > 0 ? `WHERE ${active.map(([condition]) => condition).join(' AND ')}` : '',
    values: active.map(([, value]) => value),
  };
}
