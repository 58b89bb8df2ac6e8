import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** In the order in which requests came in (ids.ts). */
const requestId = { id: integer().primaryKey() };

/**
 * How far the id is ahead of the clock, because the clock was once wrong. Beside it there is a generated column `at`: when
 * the request came in.
 */
const aheadMs = { aheadMs: integer('ahead_ms').notNull().default(0) };

/** The columns of a request that its journal row and its archived row share. */
const requestColumns = {
  projectId: integer('project_id').notNull(),
  keyId: integer('key_id').notNull(),
  endpointId: integer('endpoint_id').notNull(),
  providerId: integer('provider_id').notNull(),
  modelId: integer('model_id').notNull(),
  askedModelId: integer('asked_model_id').notNull(),
  status: integer().notNull().default(0),
  outcome: integer().notNull().default(0),
  flags: integer().notNull().default(0),
  /** A number of SOURCES, as outcome, flags and miss_cause are of theirs (ledger/record.ts). */
  source: integer().notNull().default(0),
  inputTokens: integer('input_tokens').notNull().default(0),
  cachedInputTokens: integer('cached_input_tokens').notNull().default(0),
  cacheWriteTokens: integer('cache_write_tokens').notNull().default(0),
  outputTokens: integer('output_tokens').notNull().default(0),
  reasoningTokens: integer('reasoning_tokens').notNull().default(0),
  savedTokens: integer('saved_tokens').notNull().default(0),
  /** Input that the provider's cache could have served, but didn't. */
  missedTokens: integer('missed_tokens').notNull().default(0),
  missCause: integer('miss_cause').notNull().default(0),
  costNanoUsd: integer('cost_nano_usd').notNull().default(0),
  savedNanoUsd: integer('saved_nano_usd').notNull().default(0),
  missedNanoUsd: integer('missed_nano_usd').notNull().default(0),
  holdNanoUsd: integer('hold_nano_usd').notNull().default(0),
  /** The worst case in parts; `need_input_bound` is 0 where none is known. */
  needInputTokens: integer('need_input_tokens').notNull().default(0),
  needInputBound: integer('need_input_bound').notNull().default(0),
  needOutputTokens: integer('need_output_tokens').notNull().default(0),
  outputAskedTokens: integer('output_asked_tokens'),
  needInputNanoUsd: integer('need_input_nano_usd').notNull().default(0),
  needOutputNanoUsd: integer('need_output_nano_usd').notNull().default(0),
  needFeesNanoUsd: integer('need_fees_nano_usd').notNull().default(0),
  /** The client's output limit and the one that was sent, of each choice, where gw lowered it. */
  limitAskedTokens: integer('limit_asked_tokens'),
  outputSentTokens: integer('output_sent_tokens'),
  /** When stages ended, after the request came in: in microseconds up to `sent_us`. */
  bodyUs: integer('body_us'),
  compressedUs: integer('compressed_us'),
  heldUs: integer('held_us'),
  sentUs: integer('sent_us'),
  firstByteMs: integer('first_byte_ms'),
  durationMs: integer('duration_ms').notNull().default(0),
  settledMs: integer('settled_ms'),
  processId: integer('process_id').notNull().default(0),
  repoId: integer('repo_id').notNull().default(0),
  agentId: integer('agent_id').notNull().default(0),
  agentVersionId: integer('agent_version_id').notNull().default(0),
  sessionId: integer('session_id').notNull().default(0),
};

/** Microseconds after the request came in, in the order in which the ledger did this. */
const orderColumns = {
  admittedUs: integer('admitted_us'),
  /** Settled, or refused. */
  settledUs: integer('settled_us'),
};

/** Size of the body as gw sends it, in bytes; 0 on records of 0.2.0 and before. */
const sizeColumns = { requestBytes: integer('request_bytes').notNull().default(0) };

/** What clients say that requests are for: an id of `label_sets`; 0: nothing. */
const labelColumns = { labelsId: integer('labels_id').notNull().default(0) };

/** Refusals that share a row (ledger/refusals.ts). */
const foldColumns = {
  /** How many more the row stands for. */
  folded: integer().notNull().default(0),
  /** When the last of them was refused, after the first came in; null: it stands for itself. */
  foldedMs: integer('folded_ms'),
};

/**
 * The requests that run or have just ended: a row from a request's hold on, until it is archived in `requests`. Small,
 * without indexes: a request changes this one row, on its last page.
 */
export const journal = sqliteTable('journal', {
  ...requestId,
  /** The daemon that holds it. */
  slot: integer().notNull(),
  /** 0: held; 1: settled; 2: settled, and the search for its caller is running or it counts refusals. */
  state: integer().notNull(),
  ...requestColumns,
  /** JSON: `[[budget id, period start], ...]`, the balances that the amount is reserved in. */
  charges: text().notNull().default('[]'),
  upstreamMessageId: text('upstream_message_id'),
  upstreamRequestId: text('upstream_request_id'),
  detail: text(),
  ...aheadMs,
  ...orderColumns,
  ...foldColumns,
  ...sizeColumns,
  ...labelColumns,
});

/** Ended requests. */
export const requests = sqliteTable(
  'requests',
  {
    ...requestId,
    ...requestColumns,
    ...aheadMs,
    ...orderColumns,
    ...foldColumns,
    ...sizeColumns,
    ...labelColumns,
  },
  (table) => [
    index('requests_of_project').on(table.projectId, table.id),
    index('requests_of_key').on(table.keyId, table.id),
    index('requests_of_model').on(table.modelId, table.id),
    // Only rows whose model is not the one that was requested.
    index('requests_of_asked_model').on(table.askedModelId, table.id),
    // Only rows that have one.
    index('requests_of_repo').on(table.repoId, table.id),
    index('requests_of_agent').on(table.agentId, table.id),
    index('requests_of_session').on(table.sessionId, table.id),
    index('requests_of_labels').on(table.labelsId, table.id),
    // Only rows with the flag.
    index('requests_fallback').on(table.id),
    // Only rows with another status than 200, and with another outcome than `ok`.
    index('requests_of_status').on(table.status, table.id),
    index('requests_of_outcome').on(table.outcome, table.id),
  ],
);

/** Rarely read fields of ended requests; no row if there are none. */
export const requestDetails = sqliteTable('request_details', {
  ...requestId,
  upstreamMessageId: text('upstream_message_id'),
  upstreamRequestId: text('upstream_request_id'),
  /** JSON. */
  detail: text(),
});

/** The sessions of agents, with figures of their archived requests. */
export const sessions = sqliteTable(
  'sessions',
  {
    id: integer().primaryKey(),
    /** The agent's own id. */
    externalId: text('external_id').notNull(),
    projectId: integer('project_id').notNull(),
    agentId: integer('agent_id').notNull(),
    agentVersionId: integer('agent_version_id').notNull(),
    repoId: integer('repo_id').notNull(),
    /** 0: only imported usage is of this session. */
    firstAt: integer('first_at').notNull(),
    lastAt: integer('last_at').notNull(),
    requests: integer().notNull().default(0),
    blockedRequests: integer('blocked_requests').notNull().default(0),
    inputTokens: integer('input_tokens').notNull().default(0),
    cachedInputTokens: integer('cached_input_tokens').notNull().default(0),
    cacheWriteTokens: integer('cache_write_tokens').notNull().default(0),
    outputTokens: integer('output_tokens').notNull().default(0),
    costNanoUsd: integer('cost_nano_usd').notNull().default(0),
    /** JSON: why it is taken for a runaway, and since when; '' and 0: it is not. */
    runaway: text().notNull().default(''),
    runawayAt: integer('runaway_at').notNull().default(0),
    /** The most repeated turns and failed tools in a row that are usual for it. */
    peakRepeats: integer('peak_repeats').notNull().default(0),
    peakFailures: integer('peak_failures').notNull().default(0),
  },
  (table) => [
    uniqueIndex('sessions_by_name').on(table.externalId, table.projectId, table.agentId),
    index('sessions_by_time').on(table.lastAt),
    // Only those that are taken for one.
    index('sessions_runaway').on(table.runawayAt),
  ],
);

/** Combinations of labels that requests of a project have had. */
export const labelSets = sqliteTable(
  'label_sets',
  {
    id: integer().primaryKey(),
    projectId: integer('project_id').notNull(),
    /** JSON: an object of texts, its names in order. */
    labels: text().notNull(),
  },
  (table) => [uniqueIndex('label_sets_unique').on(table.projectId, table.labels)],
);

/** Values of labels that are counted as they are, not as `other`. */
export const labelValues = sqliteTable(
  'label_values',
  {
    projectId: integer('project_id').notNull(),
    name: text().notNull(),
    value: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.projectId, table.name, table.value] })],
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

/** Dimensions of usage: one row for each combination that has occurred. */
export const usageDims = sqliteTable(
  'usage_dims',
  {
    id: integer().primaryKey(),
    source: integer().notNull(),
    projectId: integer('project_id').notNull(),
    providerId: integer('provider_id').notNull(),
    modelId: integer('model_id').notNull(),
    keyId: integer('key_id').notNull(),
    agentId: integer('agent_id').notNull(),
    repoId: integer('repo_id').notNull(),
    processId: integer('process_id').notNull(),
    sessionId: integer('session_id').notNull().default(0),
    labelsId: integer('labels_id').notNull().default(0),
  },
  (table) => [
    uniqueIndex('usage_dims_unique').on(
      table.source,
      table.projectId,
      table.providerId,
      table.modelId,
      table.keyId,
      table.agentId,
      table.repoId,
      table.processId,
      table.sessionId,
      table.labelsId,
    ),
  ],
);

/** Usage of archived requests by bucket: a UTC hour, cut where a day begins in some time zone. */
export const usageHours = sqliteTable(
  'usage_hours',
  {
    bucket: integer().notNull(),
    dimsId: integer('dims_id').notNull(),
    ...usageFigures,
    missedTokens: integer('missed_tokens').notNull(),
    missedNanoUsd: integer('missed_nano_usd').notNull(),
    replayedRequests: integer('replayed_requests').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.bucket, table.dimsId] })],
);

/**
 * Sums of `usage_hours` (of source `gw`) over all buckets before `meta.usage_summed_until`, so that reports over years read few rows.
 * The kinds are in archive/usage-sums.ts; a column that a kind sums over is 0.
 */
export const usageSums = sqliteTable(
  'usage_sums',
  {
    kind: integer().notNull(),
    projectId: integer('project_id').notNull(),
    /** A bucket, or a UTC day. */
    start: integer().notNull(),
    providerId: integer('provider_id').notNull(),
    modelId: integer('model_id').notNull(),
    agentId: integer('agent_id').notNull(),
    ...usageFigures,
    missedTokens: integer('missed_tokens').notNull(),
    missedNanoUsd: integer('missed_nano_usd').notNull(),
    replayedRequests: integer('replayed_requests').notNull(),
  },
  ({ kind, projectId, start, providerId, modelId, agentId }) => [
    primaryKey({ columns: [kind, projectId, start, providerId, modelId, agentId] }),
  ],
);

/** What providers run after the requests that started it have ended. The request holds its cost until then. */
export const jobs = sqliteTable(
  'jobs',
  {
    requestId: integer('request_id').primaryKey(),
    providerId: integer('provider_id').notNull(),
    /** The provider's id of it. */
    jobId: text('job_id').notNull(),
    createdAt: integer('created_at').notNull(),
    /** When it is booked at what is held, if nobody has asked for its end. */
    expiresAt: integer('expires_at').notNull(),
    /** The provider's id of the file of its results; null until that is known. */
    resultId: text('result_id'),
    /** JSON: what the request's record has beside its hold. */
    record: text(),
  },
  (table) => [
    uniqueIndex('jobs_of_provider').on(table.providerId, table.jobId),
    index('jobs_expiry').on(table.expiresAt),
  ],
);

/** Sessions of which calls were imported, with the figures of these calls. */
export const importedSessions = sqliteTable(
  'imported_sessions',
  {
    sessionId: integer('session_id').primaryKey(),
    firstAt: integer('first_at').notNull(),
    lastAt: integer('last_at').notNull(),
    requests: integer().notNull(),
    inputTokens: integer('input_tokens').notNull(),
    cachedInputTokens: integer('cached_input_tokens').notNull(),
    cacheWriteTokens: integer('cache_write_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    /** At list price. */
    costNanoUsd: integer('cost_nano_usd').notNull(),
  },
  (table) => [index('imported_sessions_by_time').on(table.lastAt)],
);

/** Calls that were read from agents' session logs, so that none is imported twice. Their figures are in `usage_hours`. */
export const importedCalls = sqliteTable(
  'imported_calls',
  {
    agentId: integer('agent_id').notNull(),
    /** Identifies the call in the agent's logs. */
    call: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.call] })],
);
