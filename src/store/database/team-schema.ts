import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The team that this gateway belongs to; one row at most. */
export const teamMembership = sqliteTable('team_membership', {
  id: integer().primaryKey(),
  gatewayId: integer('gateway_id').notNull(),
  /** This gateway's name in the team. */
  name: text().notNull(),
  teamName: text('team_name').notNull(),
  /** Proves to the authority that a message is this gateway's. */
  token: text().notNull(),
  /** Of the daemon that syncs, and of the one that is about to. */
  nonce: text().notNull(),
  nextNonce: text('next_nonce'),
  /** Identifies the machine and the database file: a copy of the file has another fingerprint. */
  fingerprint: text().notNull(),
  incarnation: text().notNull().default(''),
  timezone: text().notNull(),
  configVersion: integer('config_version').notNull().default(0),
  /** It delivers the team's webhooks. */
  courier: integer().notNull().default(0),
  joinedAt: integer('joined_at').notNull(),
  /** How far this machine's clock is behind the authority's. */
  offsetMs: integer('offset_ms').notNull().default(0),
  syncedAt: integer('synced_at'),
  unreachableSince: integer('unreachable_since'),
  /** Why the last sync failed. */
  failure: text(),
  frozen: integer().notNull().default(0),
  /** It returns all money and then leaves. */
  leaving: integer().notNull().default(0),
  /** Number of the last message with usage. */
  usageSeq: integer('usage_seq').notNull().default(0),
  /** When the team's keys were last known to be as they are here. */
  keysCheckedAt: integer('keys_checked_at').notNull().default(0),
  /** Until when it has the courier's lease, if it does. */
  courierUntil: integer('courier_until').notNull().default(0),
});

/** Buckets of usage that the team's database has to hear of. A change of one while it is sent raises its version. */
export const teamUsageDirty = sqliteTable('team_usage_dirty', {
  bucket: integer().primaryKey(),
  version: integer().notNull().default(1),
});

/** This gateway's limit of a team budget in a period, and the values that the authority acknowledged last. */
export const teamLimits = sqliteTable(
  'team_limits',
  {
    budgetId: integer('budget_id').notNull(),
    start: integer().notNull(),
    limitNanoUsd: integer('limit_nano_usd').notNull(),
    cleanLimitNanoUsd: integer('clean_limit_nano_usd'),
    cleanPostedNanoUsd: integer('clean_posted_nano_usd'),
  },
  (t) => [primaryKey({ columns: [t.budgetId, t.start] })],
);

/** Standings of team budgets, as the authority last reported them. */
export const teamStandings = sqliteTable('team_standings', {
  budgetId: integer('budget_id').primaryKey(),
  capNanoUsd: integer('cap_nano_usd').notNull(),
  /** Extra amount that may be spent while the authority can't be reached. */
  reserveNanoUsd: integer('reserve_nano_usd').notNull().default(0),
  start: integer().notNull().default(0),
  ends: integer().notNull().default(0),
  leftNanoUsd: integer('left_nano_usd').notNull().default(0),
  unspentNanoUsd: integer('unspent_nano_usd').notNull().default(0),
  /** Spend of this gateway when it asked. */
  postedNanoUsd: integer('posted_nano_usd').notNull().default(0),
  tight: integer().notNull().default(0),
  starved: integer().notNull().default(0),
  active: integer().notNull().default(0),
  heardAt: integer('heard_at').notNull().default(0),
});
