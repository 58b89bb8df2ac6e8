import type { Db } from '../database/open.ts';
import type { EventType } from './event-types.ts';

/** An event as it is read back. */
export interface StoredEvent {
  sequence: number;
  id: string;
  type: EventType;
  projectId: number;
  project: string;
  createdAt: number;
  /** JSON. */
  data: string;
}

export interface FollowOptions {
  /** Only this project's events. */
  projectId?: number;
  /** Only events after this sequence number; default: those from now on. */
  after?: number;
  /** Waits before the next look into the database; rejects or resolves once the follower should stop. */
  pause: () => Promise<void>;
  signal: AbortSignal;
}

/**
 * Yields events as they are committed, by this process or another, in the order of their sequence numbers, until
 * the signal aborts. `data_version` tells for next to nothing that no other connection has written.
 */
export async function* followEvents(db: Db, options: FollowOptions): AsyncGenerator<StoredEvent> {
  const { projectId = null, pause, signal } = options;
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const select = db.prepare<[number, number | null, number | null], StoredEvent>(
    `SELECT v.sequence, v.id, v.type, v.project_id AS projectId, p.name AS project, v.created_at AS createdAt, v.data
     FROM events v JOIN projects p ON p.id = v.project_id
     WHERE v.sequence > ? AND (? IS NULL OR v.project_id = ?) ORDER BY v.sequence LIMIT 100`,
  );
  let after = options.after ?? newestSequence(db);
  let seen: number | undefined;
  while (!signal.aborted) {
    const version = dataVersion.get();
    const found = version === seen ? [] : select.all(after, projectId, projectId);
    if (found.length === 0) {
      seen = version;
      await pause();
    }
    for (const event of found) {
      after = event.sequence;
      yield event;
    }
  }
}

/** The number of the newest event; 0 before the first. */
export function newestSequence(db: Db): number {
  return Number(db.prepare('SELECT coalesce(max(sequence), 0) FROM events').pluck().get());
}
