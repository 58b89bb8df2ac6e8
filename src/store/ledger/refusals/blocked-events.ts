import type { Db } from '../../database/open.ts';
import { createEnqueue } from '../../webhooks/enqueue.ts';
import type { InsertEvent } from '../events.ts';
import type { RefusalFold } from './refusal-folds.ts';

/** Announces that a budget blocked a request. Those that share a row share its event, and are counted for webhooks. */
export type EmitBlocked = (
  projectId: number,
  data: Record<string, unknown>,
  fold: RefusalFold | undefined,
) => void;

export function createBlockedEvents(db: Db, now: () => number, insert: InsertEvent): EmitBlocked {
  const enqueue = createEnqueue(db);
  return (projectId, data, fold) => {
    if (fold?.event !== undefined)
      return enqueue({ sequence: fold.event, type: 'request.blocked', projectId, createdAt: now() });
    const sequence = insert('request.blocked', projectId, data);
    if (fold) fold.event = sequence;
  };
}
