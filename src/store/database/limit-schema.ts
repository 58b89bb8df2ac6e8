import { integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** Windows of subscriptions, as the last answer to a login's request stated them. */
export const limits = sqliteTable(
  'limits',
  {
    id: integer().primaryKey(),
    /** A hash of the account. */
    login: text().notNull(),
    service: text({ enum: ['anthropic', 'chatgpt'] }).notNull(),
    /** Its length, such as 5h. */
    window: text().notNull(),
    /** The models that it is for; '': all. */
    model: text().notNull(),
    /** Millionths. */
    usedPpm: integer('used_ppm').notNull(),
    resetsAt: integer('resets_at').notNull(),
    status: text().notNull(),
    updatedAt: integer('updated_at').notNull(),
    /** The highest alert of the running window; 0: none. */
    alertedPercent: integer('alerted_percent').notNull().default(0),
    /** 1: its forecast was announced. */
    alertedForecast: integer('alerted_forecast').notNull().default(0),
  },
  (table) => [uniqueIndex('limits_unique').on(table.login, table.window, table.model)],
);

/** The last statement of each minute, for 90 days. */
export const limitHistory = sqliteTable(
  'limit_history',
  {
    limitId: integer('limit_id').notNull(),
    /** Since 1970. */
    minute: integer().notNull(),
    /** When the answer's head came, UTC milliseconds. */
    at: integer().notNull(),
    usedPpm: integer('used_ppm').notNull(),
    resetsAt: integer('resets_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.limitId, table.minute] })],
);

/** Headers about windows that gw could not use, and why. */
export const limitOddities = sqliteTable(
  'limit_oddities',
  {
    service: text().notNull(),
    header: text().notNull(),
    problem: text().notNull(),
    at: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.service, table.header] })],
);

/** For whom the rest of a window is kept. */
export const limitGuards = sqliteTable(
  'limit_guards',
  {
    kind: text({ enum: ['key', 'agent', 'session'] }).notNull(),
    /** A key's id, an agent's name or an agent's id of its session. */
    value: text().notNull(),
    keepPpm: integer('keep_ppm').notNull(),
    /** Others wait instead of being refused. */
    slow: integer({ mode: 'boolean' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.value] })],
);

/** The share of each window that the requests with a key may use. */
export const limitShares = sqliteTable('limit_shares', {
  keyId: integer('key_id').primaryKey(),
  sharePpm: integer('share_ppm').notNull(),
});
