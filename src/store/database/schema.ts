import { isNotNull, isNull, sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The tables as drizzle sees them. The SQL in migrations/ is what makes them; a test holds the two together.
 * Times are UTC milliseconds, money is integer nano-USD; `..._id` of names is an id of `names`.
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
});

export const keys = sqliteTable('keys', {
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
});

export const priceOverrides = sqliteTable(
  'price_overrides',
  {
    /** Empty: any provider. */
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
  /** A file that the daemon holds locked while it lives. */
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
    period: text({ enum: ['daily', 'monthly', 'rolling'] }).notNull(),
    /** Length of the window of a rolling budget. */
    windowMs: integer('window_ms'),
    capNanoUsd: integer('cap_nano_usd').notNull(),
    alertPercent: integer('alert_percent').notNull(),
    /** Rises with each change of the cap. */
    capVersion: integer('cap_version').notNull(),
    /** Start of the period that is running; it never moves back. */
    currentStart: integer('current_start').notNull(),
    createdAt: integer('created_at').notNull(),
    removedAt: integer('removed_at'),
    /** Rolling: what its minutes that start after `windowFrom` have posted, all of them. Null: not summed yet. */
    windowFrom: integer('window_from'),
    windowPostedNanoUsd: integer('window_posted_nano_usd'),
    /** The repository whose requests alone it counts; empty: all of the project's. */
    repo: text().notNull().default(''),
  },
  (table) => [uniqueIndex('budgets_live').on(table.projectId, table.period, table.repo)],
);

export const budgetPeriods = sqliteTable(
  'budget_periods',
  {
    budgetId: integer('budget_id')
      .notNull()
      .references(() => budgets.id),
    start: integer().notNull(),
    /** Settled spend. */
    postedNanoUsd: integer('posted_nano_usd').notNull(),
    /** Sum of the open holds. */
    pendingNanoUsd: integer('pending_nano_usd').notNull(),
    /** The cap version for which the event was written last; 0: none. */
    thresholdVersion: integer('threshold_version').notNull().default(0),
    exceededVersion: integer('exceeded_version').notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.budgetId, table.start] }),
    // Only rows with open holds, for the sum of them.
    index('budget_periods_held').on(table.budgetId, table.pendingNanoUsd),
    // Only rows with marks: few, among the minutes of a long window.
    index('budget_periods_marked').on(table.budgetId, table.start),
  ],
);

/** Names that recur in every row (models, providers, endpoints), once. Id 0 is the empty name. */
export const names = sqliteTable('names', { id: integer().primaryKey(), name: text().notNull().unique() });

export const holds = sqliteTable('holds', {
  /** The request's id. */
  id: integer().primaryKey(),
  /** The daemon that holds it. */
  slot: integer().notNull(),
  projectId: integer('project_id').notNull(),
  keyId: integer('key_id').notNull(),
  endpointId: integer('endpoint_id').notNull(),
  providerId: integer('provider_id').notNull(),
  modelId: integer('model_id').notNull(),
  askedModelId: integer('asked_model_id').notNull(),
  stream: integer({ mode: 'boolean' }).notNull(),
  amountNanoUsd: integer('amount_nano_usd').notNull(),
  /** JSON: `[[budget id, period start], ...]`, the balances that the amount is reserved in. */
  charges: text().notNull(),
  /** The origin, as far as it was known when the request was admitted. */
  processId: integer('process_id').notNull().default(0),
  repoId: integer('repo_id').notNull().default(0),
});

export const requests = sqliteTable(
  'requests',
  {
    /** Carries the time at which the request came in (ids.ts). */
    id: integer().primaryKey(),
    projectId: integer('project_id').notNull(),
    keyId: integer('key_id').notNull(),
    endpointId: integer('endpoint_id').notNull(),
    providerId: integer('provider_id').notNull(),
    modelId: integer('model_id').notNull(),
    askedModelId: integer('asked_model_id').notNull(),
    status: integer().notNull(),
    outcome: integer().notNull(),
    flags: integer().notNull(),
    inputTokens: integer('input_tokens').notNull(),
    cachedInputTokens: integer('cached_input_tokens').notNull(),
    cacheWriteTokens: integer('cache_write_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    reasoningTokens: integer('reasoning_tokens').notNull(),
    savedTokens: integer('saved_tokens').notNull(),
    costNanoUsd: integer('cost_nano_usd').notNull(),
    savedNanoUsd: integer('saved_nano_usd').notNull(),
    holdNanoUsd: integer('hold_nano_usd').notNull(),
    durationMs: integer('duration_ms').notNull(),
    firstByteMs: integer('first_byte_ms'),
    detail: text(),
    processId: integer('process_id').notNull().default(0),
    repoId: integer('repo_id').notNull().default(0),
  },
  (table) => [index('requests_of_project').on(table.projectId, table.id)],
);

/** The figures of a rollup. */
const usageFigures = {
  requests: integer().notNull(),
  blockedRequests: integer('blocked_requests').notNull(),
  failedRequests: integer('failed_requests').notNull(),
  unpricedRequests: integer('unpriced_requests').notNull(),
  inputTokens: integer('input_tokens').notNull(),
  cachedInputTokens: integer('cached_input_tokens').notNull(),
  cacheWriteTokens: integer('cache_write_tokens').notNull(),
  outputTokens: integer('output_tokens').notNull(),
  reasoningTokens: integer('reasoning_tokens').notNull(),
  savedTokens: integer('saved_tokens').notNull(),
  costNanoUsd: integer('cost_nano_usd').notNull(),
  savedNanoUsd: integer('saved_nano_usd').notNull(),
};

/** Usage per bucket of at most an hour: an hour of UTC, cut where in some time zone a day begins. */
export const usageHours = sqliteTable(
  'usage_hours',
  {
    bucket: integer().notNull(),
    projectId: integer('project_id').notNull(),
    providerId: integer('provider_id').notNull(),
    modelId: integer('model_id').notNull(),
    ...usageFigures,
  },
  (table) => [primaryKey({ columns: [table.bucket, table.projectId, table.providerId, table.modelId] })],
);

/**
 * Sums of `usage_hours`, of all buckets before `meta.usage_summed_until`, so that a report of years reads few rows.
 * The kinds are in ledger/usage-sums.ts; a column that a kind sums over is 0.
 */
export const usageSums = sqliteTable(
  'usage_sums',
  {
    kind: integer().notNull(),
    projectId: integer('project_id').notNull(),
    /** A bucket, or a day of UTC. */
    start: integer().notNull(),
    providerId: integer('provider_id').notNull(),
    modelId: integer('model_id').notNull(),
    ...usageFigures,
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.projectId, table.start, table.providerId, table.modelId] }),
  ],
);

/**
 * Usage by origin, in the same buckets. Requests of unknown origin have no rows here: they are what `usage_hours`
 * has more.
 */
export const usageOrigins = sqliteTable(
  'usage_origins',
  {
    bucket: integer().notNull(),
    projectId: integer('project_id').notNull(),
    processId: integer('process_id').notNull(),
    repoId: integer('repo_id').notNull(),
    ...usageFigures,
  },
  (table) => [primaryKey({ columns: [table.bucket, table.projectId, table.processId, table.repoId] })],
);

/** What happened to budgets, written in the transaction that caused it; webhooks deliver from here. */
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
    /** Bits by place in EVENT_TYPES. */
    events: integer().notNull(),
    /** Kept in clear: deliveries are signed with it. */
    secret: text().notNull(),
    /** The secret before the last rotation; it signs too until its time is over. */
    oldSecret: text('old_secret'),
    oldSecretUntil: integer('old_secret_until'),
    /** Deliveries that failed for good since the last that arrived. */
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    createdAt: integer('created_at').notNull(),
    disabledAt: integer('disabled_at'),
    disabledReason: text('disabled_reason'),
  },
  (table) => [index('webhook_endpoints_of_project').on(table.projectId)],
);

/** The outbox: an event on its way to an endpoint. An endpoint's rows go out one by one, in the order of their ids. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    endpointId: integer('endpoint_id')
      .notNull()
      .references(() => webhookEndpoints.id),
    /** The event; of a summary, the last one it tells of. */
    sequence: integer().notNull(),
    /** Set in a summary of blocked requests only: the first event it tells of. */
    firstSequence: integer('first_sequence'),
    eventCount: integer('event_count').notNull().default(1),
    state: text({ enum: ['pending', 'sending', 'delivered', 'failed'] })
      .notNull()
      .default('pending'),
    /** Pending: not sent before. Sending: when the claim lapses and another daemon may take it up. */
    dueAt: integer('due_at').notNull(),
    /** Counts claims: an outcome that comes in under an old claim changes nothing. */
    claims: integer().notNull().default(0),
    /** Attempts that ended. */
    attempts: integer().notNull().default(0),
    /** What came of the last attempt. */
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
    // For pruning: what ended long ago, and the first event that is still told of.
    index('deliveries_finished').on(table.finishedAt).where(isNotNull(table.finishedAt)),
    index('deliveries_first_event').on(sql`coalesce(${table.firstSequence}, ${table.sequence})`),
  ],
);

/** Blocked requests that a chat endpoint has yet to be told of, in one message a minute. */
export const blockedSummaries = sqliteTable('blocked_summaries', {
  endpointId: integer('endpoint_id')
    .primaryKey()
    .references(() => webhookEndpoints.id),
  /** 0 while nothing waits. */
  eventCount: integer('event_count').notNull(),
  firstSequence: integer('first_sequence').notNull(),
  sequence: integer().notNull(),
  /** No message before this. */
  dueAt: integer('due_at').notNull(),
});

/** What a conversation cost with the optimizer's help or, held out, without it: the evidence on whether it pays. */
export const optimizerTrials = sqliteTable(
  'optimizer_trials',
  {
    projectId: integer('project_id').notNull(),
    heldOut: integer('held_out', { mode: 'boolean' }).notNull(),
    providerId: integer('provider_id').notNull(),
    modelId: integer('model_id').notNull(),
    /** A hash of how it began, in 48 bits; the level above them. */
    conversation: integer().notNull(),
    requests: integer().notNull(),
    /** Before compression; estimates, by the same measure on both sides. */
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

/** Projects for which the optimizer switched itself off, and on what evidence. */
export const optimizerVerdicts = sqliteTable('optimizer_verdicts', {
  projectId: integer('project_id')
    .primaryKey()
    .references(() => projects.id),
  at: integer().notNull(),
  /** Below 0: it cost more. */
  savedNanoUsd: integer('saved_nano_usd').notNull(),
  marginNanoUsd: integer('margin_nano_usd').notNull(),
  treatedConversations: integer('treated_conversations').notNull(),
  heldOutConversations: integer('held_out_conversations').notNull(),
});

/** What a daemon's router knew last: a row for the health of its targets, and one for the conversations (router-state.ts). */
export const routeHealth = sqliteTable('route_health', {
  id: integer().primaryKey(),
  savedAt: integer('saved_at').notNull(),
  /** JSON: cooldowns and breakers with what was left of them; who served the latest conversations. */
  snapshot: text().notNull(),
});
