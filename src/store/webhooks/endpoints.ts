import type { Plan } from '../accounts/projects.ts';
import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { type EventType, eventBits, eventsOf } from './event-types.ts';
/** The format of a delivery's body: `json` for programs, the others for chats. */
export const WEBHOOK_FORMATS = [
  'json',
  'slack',
  'discord',
  'teams',
  'google-chat',
  'mattermost',
  'ntfy',
] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** A registered webhook. Never show its secrets, and mask its URL, which may be a bearer secret. */
export interface Endpoint extends Omit<Row<'webhookEndpoints'>, 'format' | 'events'> {
  project: string;
  plan: Plan;
  format: WebhookFormat;
  events: EventType[];
}

export interface NewEndpoint {
  projectId: number;
  url: string;
  format: WebhookFormat;
  events: readonly EventType[];
  secret: string;
  now: number;
}

/** Runs a command in one immediate transaction: the ledger's `write` in a daemon, `inTransaction` elsewhere. */
export type Write = <T>(command: () => T) => Promise<T>;

/** The registered webhooks. Changes take effect in all daemons, from the next event and the next attempt. */
export type Endpoints = ReturnType<typeof createEndpoints>;

type StoredEndpoint = Omit<Endpoint, 'events'> & { events: number };

const SELECT = `SELECT e.id, p.name AS project, e.project_id AS projectId, p.plan, e.url, e.format, e.events, e.secret,
  e.old_secret AS oldSecret, e.old_secret_until AS oldSecretUntil, e.consecutive_failures AS consecutiveFailures,
  e.created_at AS createdAt, e.disabled_at AS disabledAt, e.disabled_reason AS disabledReason
  FROM webhook_endpoints e JOIN projects p ON p.id = e.project_id WHERE p.removed_at IS NULL`;

export function createEndpoints(db: Db, write: Write) {
  const sql = prepareEndpoints(db);
  return {
    create: ({ projectId, url, format, events, secret, now }: NewEndpoint): Promise<number> =>
      write(() => {
        const { lastInsertRowid } = sql.insert.run(projectId, url, format, eventBits(events), secret, now);
        return Number(lastInsertRowid);
      }),
    /** The endpoints of a project, or all, oldest first. Excludes those of removed projects. */
    list: async (projectId?: number): Promise<Endpoint[]> =>
      (projectId === undefined ? sql.selectAll.all() : sql.selectOfProject.all(projectId)).map(parseRow),
    get: async (id: number): Promise<Endpoint | undefined> => {
      const row = sql.select.get(id);
      return row && parseRow(row);
    },
    update: (
      id: number,
      { url, format, events }: Partial<Pick<NewEndpoint, 'url' | 'format' | 'events'>>,
    ): Promise<void> =>
      write(() => {
        sql.update.run(url ?? null, format ?? null, events ? eventBits(events) : null, id);
      }),
    /** Removes the endpoint with its deliveries. */
    remove: (id: number): Promise<void> => write(() => removeEndpoint(db, id)),
    /** Replaces the secret. The old one keeps signing until `oldSecretUntil`. */
    rotate: (id: number, secret: string, oldSecretUntil: number): Promise<void> =>
      write(() => {
        sql.rotate.run(secret, oldSecretUntil, id);
      }),
    disable: (id: number, reason: string, now: number): Promise<void> =>
      write(() => disableEndpoint(db, { id, reason, now })),
    enable: (id: number): Promise<void> =>
      write(() => {
        sql.enable.run(id);
      }),
  };
}

function prepareEndpoints(db: Db) {
  return {
    selectAll: db.prepare<[], StoredEndpoint>(`${SELECT} ORDER BY e.id`),
    selectOfProject: db.prepare<[number], StoredEndpoint>(`${SELECT} AND e.project_id = ? ORDER BY e.id`),
    select: db.prepare<[number], StoredEndpoint>(`${SELECT} AND e.id = ?`),
    insert: db.prepare<[number, string, WebhookFormat, number, string, number]>(
      'INSERT INTO webhook_endpoints (project_id, url, format, events, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    update: db.prepare<[string | null, WebhookFormat | null, number | null, number]>(`UPDATE webhook_endpoints
      SET url = coalesce(?, url), format = coalesce(?, format), events = coalesce(?, events) WHERE id = ?`),
    rotate: db.prepare<[string, number, number]>(`UPDATE webhook_endpoints
      SET secret = ?, old_secret = secret, old_secret_until = ? WHERE id = ?`),
    enable: db.prepare<[number]>(`UPDATE webhook_endpoints
      SET disabled_at = NULL, disabled_reason = NULL, consecutive_failures = 0 WHERE id = ?`),
  };
}

function removeEndpoint(db: Db, id: number): void {
  db.prepare('DELETE FROM deliveries WHERE endpoint_id = ?').run(id);
  db.prepare('DELETE FROM blocked_summaries WHERE endpoint_id = ?').run(id);
  db.prepare('DELETE FROM webhook_endpoints WHERE id = ?').run(id);
}

/**
 * Disables an endpoint, in the running transaction. Its pending deliveries fail, where they can be seen and replayed:
 * an endpoint that is enabled again after a week must not be flooded with a week's alerts.
 */
export function disableEndpoint(
  db: Db,
  { id, reason, now }: { id: number; reason: string; now: number },
): void {
  db.prepare(`UPDATE webhook_endpoints SET disabled_at = ?, disabled_reason = ? WHERE id = ?
    AND disabled_at IS NULL`).run(now, reason, id);
  db.prepare(`UPDATE deliveries SET state = 'failed', finished_at = ?, error = 'the endpoint was disabled'
    WHERE endpoint_id = ? AND state = 'pending'`).run(now, id);
  db.prepare('DELETE FROM blocked_summaries WHERE endpoint_id = ?').run(id);
}

const parseRow = (row: StoredEndpoint): Endpoint => ({ ...row, events: eventsOf(row.events) });
