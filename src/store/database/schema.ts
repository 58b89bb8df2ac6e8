import { isNotNull, isNull, sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

export * from './limit-schema.ts';
export * from './provider-schema.ts';
export * from './request-schema.ts';
export * from './team-schema.ts';

/**
 * The schema in one place. The SQL in migrations/ creates the tables, and a test compares the two; columns.ts infers the
 * types of rows, and nothing loads this file at run time. Times are UTC milliseconds, money is integer nano-USD; `..._id` of names is an id of `names`.
 */
export const meta = sqliteTable('meta', { key: text().primaryKey(), value: integer().notNull() });

export const projects = sqliteTable('projects', {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
  plan: text({ enum: ['free', 'pro', 'team'] })
    .notNull()
    .default('pro'),
  createdAt: integer('created_at').notNull(),
  pausedAt: integer('paused_at'),
  removedAt: integer('removed_at'),
  /** When its running requests were cut last. */
  cutAt: integer('cut_at'),
});

export const keys = sqliteTable(
  'keys',
  {
    id: integer().primaryKey(),
    projectId: integer('project_id')
      .notNull()
      .references(() => projects.id),
    /** SHA-256 of the key; the key itself is stored nowhere. */
    hash: blob({ mode: 'buffer' }).notNull().unique(),
    /** The key's last four characters, to tell keys apart. */
    hint: text().notNull(),
    label: text(),
    admin: integer({ mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
    revokedAt: integer('revoked_at'),
    /** The key is refused from then on; null: never. */
    expiresAt: integer('expires_at'),
    /** JSON: the models that it may name; null: all. */
    models: text(),
    /** Requests that it may make in a minute; null: any number. */
    rpm: integer(),
    /** The hash before the last rotation; it works until `old_until`. */
    oldHash: blob('old_hash', { mode: 'buffer' }),
    oldUntil: integer('old_until'),
    rotatedAt: integer('rotated_at'),
    /** The team's id of it, if the key is a team's; 0 once this gateway has left. */
    teamKeyId: integer('team_key_id'),
    /** JSON: the labels of its requests; null: none. */
    labels: text(),
  },
  (table) => [uniqueIndex('keys_old_hash').on(table.oldHash)],
);

export const priceOverrides = sqliteTable(
  'price_overrides',
  {
    /** '': any provider. */
    provider: text().notNull(),
    model: text().notNull(),
    /** JSON: integer pico-USD per token, by kind. */
    rates: text().notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.provider, table.model] })],
);

export const daemons = sqliteTable('daemons', {
  slot: integer().primaryKey(),
  instanceId: text('instance_id').notNull().unique(),
  pid: integer().notNull(),
  /** A file that the daemon keeps locked while it lives. */
  lockPath: text('lock_path').notNull(),
  startedAt: integer('started_at').notNull(),
});

export const budgets = sqliteTable(
  'budgets',
  {
    id: integer().primaryKey(),
    projectId: integer('project_id')
      .notNull()
      .references(() => projects.id),
    period: text({ enum: ['daily', 'weekly', 'monthly', 'rolling', 'lifetime'] }).notNull(),
    /** The length of a rolling budget's window. */
    windowMs: integer('window_ms'),
    capNanoUsd: integer('cap_nano_usd').notNull(),
    alertPercent: integer('alert_percent').notNull(),
    /** Incremented when the cap, the alert or the window changes. */
    capVersion: integer('cap_version').notNull(),
    /** The start of the running period. It moves back with a clock that was once in the future. */
    currentStart: integer('current_start').notNull(),
    createdAt: integer('created_at').notNull(),
    removedAt: integer('removed_at'),
    /** Rolling budgets: the sum posted in all minutes that start after `windowFrom`; null: not summed yet. */
    windowFrom: integer('window_from'),
    windowPostedNanoUsd: integer('window_posted_nano_usd'),
    /** It counts only requests from this repository; '': all of the project's. */
    repo: text().notNull().default(''),
    /** What else it is for, besides a repository: a run, key, session or agent, or `each` of a kind; '': nothing. */
    scopeKind: text('scope_kind').notNull().default(''),
    scopeValue: text('scope_value').notNull().default(''),
    /** It counts only requests with this key; 0: all of the project's. */
    keyId: integer('key_id').notNull().default(0),
    /** The cap for each session, agent or key that it belongs to; 0: none. */
    parentId: integer('parent_id').notNull().default(0),
    /** JSON: the shares of the cap at which alerts are sent, ascending; '': `alert_percent` alone, the lowest. */
    alertPercents: text('alert_percents').notNull().default(''),
    /** The team's id of it; null: it is local. Its cap is then what this gateway may spend in the running period. */
    teamBudgetId: integer('team_budget_id'),
    /** What happens to a request that it has no room for in its period. */
    onLimit: text('on_limit', { enum: ['block', 'ask', 'fallback'] })
      .notNull()
      .default('block'),
    /** The period whose early spend is carried over at its end, as far as it had no room for it; null: there is none. */
    earlyStart: integer('early_start'),
    /** The cheaper models, as an alias lists them; '': none. */
    fallback: text().notNull().default(''),
    /** The share of the cap from which on requests go to them. */
    fallbackPercent: integer('fallback_percent').notNull().default(100),
    /** The cap version and the start of the period that requests went there in last: it is announced once. */
    fallbackVersion: integer('fallback_version').notNull().default(0),
    fallbackStart: integer('fallback_start').notNull().default(0),
    /** What happens to requests of a session that runs away. */
    runaway: text({ enum: ['alert', 'block', 'ask'] })
      .notNull()
      .default('alert'),
    /** The projects that share it: '*' for all, or JSON, their ids in order; '': `project_id` alone. */
    projects: text().notNull().default(''),
  },
  (t) => [
    index('budgets_early').on(t.earlyStart),
    uniqueIndex('budgets_of_team').on(t.teamBudgetId),
    uniqueIndex('budgets_live').on(t.projectId, t.period, t.repo, t.scopeKind, t.scopeValue, t.projects),
    index('budgets_shared').on(t.projects),
    index('budgets_of_project').on(t.projectId, t.period, t.repo, t.scopeKind, t.scopeValue),
    index('budgets_members').on(t.parentId, t.scopeValue),
  ],
);

/** Raises of caps that end by themselves. `budgets.cap_nano_usd` includes them until then. */
export const budgetRaises = sqliteTable(
  'budget_raises',
  {
    id: integer().primaryKey(),
    budgetId: integer('budget_id')
      .notNull()
      .references(() => budgets.id),
    amountNanoUsd: integer('amount_nano_usd').notNull(),
    until: integer().notNull(),
    createdAt: integer('created_at').notNull().default(0),
  },
  (table) => [index('budget_raises_of_budget').on(table.budgetId)],
);

/** Requests that wait, or have waited, for their owner's answer. Those that ended are deleted after a day. */
export const asks = sqliteTable('asks', {
  requestId: integer('request_id').primaryKey(),
  projectId: integer('project_id').notNull(),
  /** The budget that has no room, the one with the least left. */
  budgetId: integer('budget_id').notNull(),
  keyId: integer('key_id').notNull(),
  /** The daemon that the request waits at. */
  slot: integer().notNull(),
  model: text().notNull(),
  agent: text().notNull(),
  /** The least that the request can do with. */
  leastNanoUsd: integer('least_nano_usd').notNull(),
  /** Amount that is held if the owner approves the request. */
  neededNanoUsd: integer('needed_nano_usd').notNull(),
  state: text({ enum: ['open', 'approved', 'denied', 'expired', 'ended'] }).notNull(),
  /** The most that the approved request may hold, whatever its budgets have left; null: they have to have room. */
  allowedNanoUsd: integer('allowed_nano_usd'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  session: text().notNull().default(''),
  /** Why its session is taken for a runaway, which is what the question is about; '': it lacks room. */
  runaway: text().notNull().default(''),
});

/** The runs of `gw run --budget` that have not ended. */
export const runs = sqliteTable('runs', {
  id: text().primaryKey(),
  /** The key that its program uses. */
  keyId: integer('key_id').notNull(),
  /** A file that `gw run` keeps locked while it lives. */
  lockPath: text('lock_path').notNull(),
});

export const budgetPeriods = sqliteTable(
  'budget_periods',
  {
    budgetId: integer('budget_id')
      .notNull()
      .references(() => budgets.id),
    start: integer().notNull(),
    /** Settled spend. */
    postedNanoUsd: integer('posted_nano_usd').notNull(),
    /** The sum of the open holds. */
    pendingNanoUsd: integer('pending_nano_usd').notNull(),
    /** The cap version whose event was emitted last; 0: none. */
    thresholdVersion: integer('threshold_version').notNull().default(0),
    exceededVersion: integer('exceeded_version').notNull().default(0),
    /** 1: a minute of a rolling budget. */
    rolling: integer().notNull().default(0),
    /** The highest alert that `threshold_version` has had; 0: the only one, or none. */
    thresholdPercent: integer('threshold_percent').notNull().default(0),
    /** Spend and holds that this period took over from periods that began in the future. */
    earlyNanoUsd: integer('early_nano_usd').notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.budgetId, table.start] }),
    // Only rows with open holds, to sum them.
    index('budget_periods_held').on(table.budgetId, table.pendingNanoUsd),
    // Only rows with marks: few among the minutes of a long window.
    index('budget_periods_marked').on(table.budgetId, table.start),
  ],
);

/** Names that recur in rows (models, providers, endpoints), stored once. Id 0 is the empty name. */
export const names = sqliteTable('names', { id: integer().primaryKey(), name: text().notNull().unique() });

/** Events of budgets, written in the transaction of their cause; webhooks deliver them. */
export const events = sqliteTable('events', {
  sequence: integer().primaryKey(),
  id: text().notNull().unique(),
  type: text().notNull(),
  projectId: integer('project_id').notNull(),
  createdAt: integer('created_at').notNull(),
  data: text().notNull(),
});

/** A registered webhook. */
export const webhookEndpoints = sqliteTable(
  'webhook_endpoints',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    projectId: integer('project_id')
      .notNull()
      .references(() => projects.id),
    url: text().notNull(),
    format: text().notNull(),
    /** Bits by position in EVENT_TYPES. */
    events: integer().notNull(),
    /** Stored in clear: deliveries are signed with it. */
    secret: text().notNull(),
    /** The secret before the last rotation; deliveries carry its signature too until it expires. */
    oldSecret: text('old_secret'),
    oldSecretUntil: integer('old_secret_until'),
    /** Failed deliveries since the last delivered one. */
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    createdAt: integer('created_at').notNull(),
    disabledAt: integer('disabled_at'),
    disabledReason: text('disabled_reason'),
  },
  (table) => [index('webhook_endpoints_of_project').on(table.projectId)],
);

/** The outbox: deliveries of events to endpoints. An endpoint gets alerts before summaries, each ordered by id. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    endpointId: integer('endpoint_id')
      .notNull()
      .references(() => webhookEndpoints.id),
    /** The event; the last one, in a summary. */
    sequence: integer().notNull(),
    /** The first event, in a summary of blocked requests; null otherwise. */
    firstSequence: integer('first_sequence'),
    eventCount: integer('event_count').notNull().default(1),
    state: text({ enum: ['pending', 'sending', 'delivered', 'failed'] })
      .notNull()
      .default('pending'),
    /** Pending: when the next attempt is due. Sending: when the claim lapses and another daemon may take it. */
    dueAt: integer('due_at').notNull(),
    /** The number of claims: an outcome under an earlier claim is ignored. */
    claims: integer().notNull().default(0),
    /** Attempts that ended. */
    attempts: integer().notNull().default(0),
    /** The result of the last attempt. */
    attemptedAt: integer('attempted_at'),
    durationMs: integer('duration_ms'),
    status: integer(),
    error: text(),
    response: text(),
    createdAt: integer('created_at').notNull(),
    finishedAt: integer('finished_at'),
    replayedAt: integer('replayed_at'),
  },
  (table) => [
    index('deliveries_of_endpoint').on(table.endpointId, table.id),
    index('deliveries_open').on(table.endpointId, table.id).where(isNull(table.finishedAt)),
    // For pruning: old deliveries, and the first event that a delivery refers to.
    index('deliveries_finished').on(table.finishedAt).where(isNotNull(table.finishedAt)),
    index('deliveries_first_event').on(sql`coalesce(${table.firstSequence}, ${table.sequence})`),
  ],
);

/** Blocked requests that an endpoint gets in its next summary, one a minute. */
export const blockedSummaries = sqliteTable('blocked_summaries', {
  endpointId: integer('endpoint_id')
    .primaryKey()
    .references(() => webhookEndpoints.id),
  /** 0: nothing to send. */
  eventCount: integer('event_count').notNull(),
  firstSequence: integer('first_sequence').notNull(),
  sequence: integer().notNull(),
  /** The earliest time of the next message. */
  dueAt: integer('due_at').notNull(),
});

/** The cost of a conversation with the optimizer or, held out, without it: a sample of the trial. */
export const optimizerTrials = sqliteTable(
  'optimizer_trials',
  {
    projectId: integer('project_id').notNull(),
    heldOut: integer('held_out', { mode: 'boolean' }).notNull(),
    providerId: integer('provider_id').notNull(),
    modelId: integer('model_id').notNull(),
    /** A 48-bit hash of its start, with the level above the 48 bits. */
    conversation: integer().notNull(),
    requests: integer().notNull(),
    /** Before compression; estimated in the same way on both sides. */
    originalTokens: integer('original_tokens').notNull(),
    costNanoUsd: integer('cost_nano_usd').notNull(),
    lastAt: integer('last_at').notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.projectId, table.heldOut, table.providerId, table.modelId, table.conversation],
    }),
  ],
);

/** Projects whose optimizer switched itself off, with the result of the trial. */
export const optimizerVerdicts = sqliteTable('optimizer_verdicts', {
  projectId: integer('project_id')
    .primaryKey()
    .references(() => projects.id),
  at: integer().notNull(),
  /** Negative: compression cost money. */
  savedNanoUsd: integer('saved_nano_usd').notNull(),
  marginNanoUsd: integer('margin_nano_usd').notNull(),
  treatedConversations: integer('treated_conversations').notNull(),
  heldOutConversations: integer('held_out_conversations').notNull(),
});

/** Snapshots of the router's state: a row for the health of targets and one for conversations (router-state.ts). */
export const routeHealth = sqliteTable('route_health', {
  id: integer().primaryKey(),
  savedAt: integer('saved_at').notNull(),
  /** JSON: cooldowns and breakers with their remaining time; the target of each recent conversation. */
  snapshot: text().notNull(),
});
