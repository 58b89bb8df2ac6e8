import { newId, type Random } from '../../ids.ts';
import type { Db } from '../open.ts';

export const EVENT_TYPES = [
  'budget.threshold_reached',
  'budget.exceeded',
  'budget.reset',
  'request.blocked',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Writes an event into the running transaction. */
export type EmitEvent = (type: EventType, projectId: number, data: Record<string, unknown>) => void;

/** Events are rows of the transaction that caused them: committed if and only if their cause is. */
export function createEvents(db: Db, now: () => number, random: Random): EmitEvent {
  const insert = db.prepare<[string, string, number, number, string]>(
    'INSERT INTO events (id, type, project_id, created_at, data) VALUES (?, ?, ?, ?, ?)',
  );
  return (type, projectId, data) => {
    insert.run(newId('evt', random), type, projectId, now(), JSON.stringify(data));
  };
}
