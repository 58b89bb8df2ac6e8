import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import type { EventType } from './event-types.ts';

/** An event as it is read back. Its data is JSON. */
export interface StoredEvent extends Row<'events'> {
  type: EventType;
  project: string;
}

export interface FollowOptions {
  /** Only this project's events. */
  projectId?: number | undefined;
  /** Only events after this sequence number; by default, events from now on. */
  after?: number | undefined;
  /** Waits before the next poll. Must settle once `signal` aborts. */
  pause: () => Promise<void>;
  signal: AbortSignal;
}

/**
 * Yields events as they are committed, by this process or another, ordered by sequence number, until the signal
 * aborts. Polls `data_version`, which is cheap as long as no other connection has written.
 */
export async function* followEvents(db: Db, options: FollowOptions): AsyncGenerator<StoredEvent> {
  const { projectId = null, pause, signal } = options;
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const select = db.prepare<[number, number | null, number | null], StoredEvent>(`
    SELECT v.sequence, v.id, v.type, v.project_id AS projectId, p.name AS project, v.created_at AS createdAt, v.data
    FROM events v JOIN projects p ON p.id = v.project_id
    WHERE v.sequence > ? AND (? IS NULL OR v.project_id = ?) ORDER BY v.sequence LIMIT 100`);
  let after = options.after ?? newestSequence(db);
  let lastVersion: number | undefined;
  while (!signal.aborted) {
    const version = dataVersion.get();
    const events = version === lastVersion ? [] : select.all(after, projectId, projectId);
    if (events.length === 0) {
      lastVersion = version;
      await pause();
    }
    for (const event of events) {
      after = event.sequence;
      yield event;
    }
  }
}

/** The sequence number of the newest event; 0 without any. */
export function newestSequence(db: Db): number {
  return Number(db.prepare('SELECT coalesce(max(sequence), 0) FROM events').pluck().get());
}
