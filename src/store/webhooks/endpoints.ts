import { and, asc, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Plan } from '../accounts/project.ts';
import type { Db } from '../database/open.ts';
import { blockedSummaries, deliveries, projects, webhookEndpoints } from '../database/schema.ts';
import type { EventType } from './event-types.ts';
import { eventBits, eventsOf } from './subscription.ts';

/** How a delivery's body is written: `json` for programs, the others for the chats of that name. */
export const WEBHOOK_FORMATS = ['json', 'slack', 'discord', 'teams', 'google-chat', 'mattermost'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** A registered webhook. Its URL may be a bearer secret, and its secrets are: mask both wherever they are shown. */
export interface Endpoint {
  id: number;
  project: string;
  projectId: number;
  plan: Plan;
  url: string;
  format: WebhookFormat;
  events: EventType[];
  secret: string;
  oldSecret: string | null;
  /** Until when the secret before the last rotation signs too. */
  oldSecretUntil: number | null;
  consecutiveFailures: number;
  createdAt: number;
  disabledAt: number | null;
  disabledReason: string | null;
}

export interface NewEndpoint {
  projectId: number;
  url: string;
  format: WebhookFormat;
  events: readonly EventType[];
  secret: string;
  now: number;
}

/** Runs a command in one immediate transaction: the ledger's `write`, or one of `inTransaction` where no daemon runs. */
export type Write = <T>(command: () => T) => Promise<T>;

/** The registered webhooks. A change counts from the next event, and from the next attempt, in every daemon. */
export interface Endpoints {
  create(endpoint: NewEndpoint): Promise<number>;
  /** Those of a project, or all, by age; those of removed projects are gone. */
  list(projectId?: number): Promise<Endpoint[]>;
  get(id: number): Promise<Endpoint | undefined>;
  update(id: number, changes: Partial<Pick<NewEndpoint, 'url' | 'format' | 'events'>>): Promise<void>;
  /** Removes the endpoint with its deliveries. */
  remove(id: number): Promise<void>;
  /** Gives it a new secret; the old one signs too until `oldSecretUntil`. */
  rotate(id: number, secret: string, oldSecretUntil: number): Promise<void>;
  disable(id: number, reason: string, now: number): Promise<void>;
  enable(id: number): Promise<void>;
}

export function createEndpoints(db: Db, write: Write): Endpoints {
  const orm = drizzle(db);
  const update = (id: number, changes: Partial<typeof webhookEndpoints.$inferInsert>) =>
    write(() => {
      orm.update(webhookEndpoints).set(changes).where(eq(webhookEndpoints.id, id)).run();
    });
  const select = (condition: SQL | undefined) =>
    orm
      .select({ endpoint: webhookEndpoints, project: projects.name, plan: projects.plan })
      .from(webhookEndpoints)
      .innerJoin(projects, eq(projects.id, webhookEndpoints.projectId))
      .where(and(isNull(projects.removedAt), condition))
      .orderBy(asc(webhookEndpoints.id))
      .all()
      .map(read);
  return {
    create: ({ events, now, ...endpoint }) =>
      write(() => {
        const values = { ...endpoint, events: eventBits(events), createdAt: now };
        return orm.insert(webhookEndpoints).values(values).returning({ id: webhookEndpoints.id }).get().id;
      }),
    list: async (projectId) =>
      select(projectId === undefined ? undefined : eq(webhookEndpoints.projectId, projectId)),
    get: async (id) => select(eq(webhookEndpoints.id, id))[0],
    update: (id, { events, ...changes }) =>
      update(id, events === undefined ? changes : { ...changes, events: eventBits(events) }),
    remove: (id) =>
      write(() => {
        orm.delete(deliveries).where(eq(deliveries.endpointId, id)).run();
        orm.delete(blockedSummaries).where(eq(blockedSummaries.endpointId, id)).run();
        orm.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id)).run();
      }),
    rotate: (id, secret, oldSecretUntil) =>
      write(() => {
        orm
          .update(webhookEndpoints)
          .set({ secret, oldSecret: sql`${webhookEndpoints.secret}`, oldSecretUntil })
          .where(eq(webhookEndpoints.id, id))
          .run();
      }),
    disable: (id, reason, now) => write(() => disableEndpoint(db, { id, reason, now })),
    enable: (id) => update(id, { disabledAt: null, disabledReason: null, consecutiveFailures: 0 }),
  };
}

/**
 * Disables an endpoint, in the running transaction. What waits for it fails, where it can be seen and replayed:
 * enabled again after a week, an endpoint is not to be flooded with a week's alerts.
 */
export function disableEndpoint(
  db: Db,
  { id, reason, now }: { id: number; reason: string; now: number },
): void {
  const orm = drizzle(db);
  orm
    .update(webhookEndpoints)
    .set({ disabledAt: now, disabledReason: reason })
    .where(and(eq(webhookEndpoints.id, id), isNull(webhookEndpoints.disabledAt)))
    .run();
  orm
    .update(deliveries)
    .set({ state: 'failed', finishedAt: now, error: 'the endpoint was disabled' })
    .where(and(eq(deliveries.endpointId, id), eq(deliveries.state, 'pending')))
    .run();
  orm.delete(blockedSummaries).where(eq(blockedSummaries.endpointId, id)).run();
}

function read({
  endpoint,
  ...project
}: {
  endpoint: typeof webhookEndpoints.$inferSelect;
  project: string;
  plan: Plan;
}): Endpoint {
  return {
    ...endpoint,
    ...project,
    events: eventsOf(endpoint.events),
    // Written by `create` and `update` only, which take no other.
    format: endpoint.format as WebhookFormat,
  };
}
