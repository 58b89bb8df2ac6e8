import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** What gw knows of providers from their answers, and whose their objects are. A part of schema.ts. */

/** What only the providers of tool calls can read, for clients that bring back no more than the calls' ids. */
export const carriedTurns = sqliteTable(
  'carried_turns',
  {
    projectId: integer('project_id').notNull(),
    /** Of the turn's first call, behind the name of the provider that can read it. */
    callId: text('call_id').notNull(),
    /** UTC milliseconds. */
    at: integer().notNull(),
    /** JSON: the reasoning's text and its seals. */
    turn: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.projectId, table.callId] }),
    index('carried_turns_at').on(table.at),
  ],
);

/** Bounds of holds that a provider's report has exceeded; they are not used again for 30 days. */
export const distrustedBounds = sqliteTable(
  'distrusted_bounds',
  {
    provider: text().notNull(),
    model: text().notNull(),
    /**
     * `edit`, `exact` or `provider_count` of the input, for which the bound by bytes stays in use; `output`, the limit in
     * the request; `maximum`, the model's own; `code`, what a round of code adds; `price x1.4`, the cost in relation to the dearest listed price; or `free`,
     * of an endpoint, whose name is in place of a model.
     */
    bound: text().notNull(),
    /** UTC milliseconds. */
    at: integer().notNull(),
    /** The request whose report exceeded the bound. */
    requestId: integer('request_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.provider, table.model, table.bound] })],
);

/** Who made what providers store. Ids are compared without regard to letter case. */
export const objects = sqliteTable(
  'objects',
  {
    id: text().notNull(),
    provider: text().notNull(),
    projectId: integer('project_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.id, table.provider] })],
);

/** The project that owns a provider's objects that are in no row of `objects`. */
export const objectClaims = sqliteTable('object_claims', {
  provider: text().primaryKey(),
  projectId: integer('project_id').notNull(),
});

/** What the requests in files for batches can cost at most, by the file's id. */
export const batchFiles = sqliteTable(
  'batch_files',
  {
    provider: text().notNull(),
    fileId: text('file_id').notNull(),
    /** JSON. */
    bound: text().notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.provider, table.fileId] }),
    index('batch_files_age').on(table.createdAt),
  ],
);
