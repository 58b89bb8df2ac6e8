import { newId, type Random } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { createEnqueue } from '../webhooks/enqueue.ts';
import type { EventType } from '../webhooks/event-types.ts';

export type { EventType } from '../webhooks/event-types.ts';

/** Writes an event into the running transaction. */
export type EmitEvent = (type: EventType, projectId: number, data: Record<string, unknown>) => void;
/** As `EmitEvent`; returns its sequence number. */
export type InsertEvent = (...event: Parameters<EmitEvent>) => number;

/** Longer texts in an event are cut: clients can send any text as a model's name, and receivers accept 20 kB. */
const MAX_TEXT_LENGTH = 500;

/**
 * Events and their deliveries are written in the transaction of their cause: they are committed if and only if it is.
 */
export function createEvents(db: Db, now: () => number, random: Random): InsertEvent {
  const insert = db.prepare<[string, string, number, number, string]>(
    'INSERT INTO events (id, type, project_id, created_at, data) VALUES (?, ?, ?, ?, ?)',
  );
  const enqueue = createEnqueue(db);
  return (type, projectId, data) => {
    const createdAt = now();
    const { lastInsertRowid } = insert.run(newId('evt', random), type, projectId, createdAt, toJson(data));
    const sequence = Number(lastInsertRowid);
    enqueue({ sequence, type, projectId, createdAt });
    return sequence;
  };
}

function toJson(data: Record<string, unknown>): string {
  const json = JSON.stringify(data);
  if (json.length <= MAX_TEXT_LENGTH) return json;
  return JSON.stringify(data, (_key, value: unknown) => (typeof value === 'string' ? cut(value) : value));
}

/** Cuts a text, but not through a surrogate pair. */
function cut(text: string): string {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  return text.slice(0, MAX_TEXT_LENGTH).replace(/[\uD800-\uDBFF]$/, '');
}
