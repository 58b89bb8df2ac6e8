import { z } from 'zod';
import { FEED_KINDS, FEED_LIMIT } from '../../store/dashboard/feed.ts';
import { WINDOWS } from '../../store/dashboard/reader.ts';
import { PARTS } from '../../store/dashboard/spend.ts';
import { MISS_CAUSES, type MissCause } from '../../store/ledger/record.ts';
import { describe } from '../operation.ts';
import { AskReport } from './asks.ts';
import { BudgetReport } from './budgets.ts';
import { count, listOf, nanoUsd, only_project, time } from './fields.ts';
import { LimitWindow } from './limits.ts';
import { conditions, RequestReport } from './requests.ts';
import { health, Runaway } from './status.ts';
import { Session } from './usage.ts';

/** The gw that answers, and the key that asks. */
const Whoami = z.object({
  object: z.literal('whoami'),
  version: z.string(),
  timezone: z.string().describe('of the days and months of budgets and reports'),
  now: time,
  key: z.object({
    id: z.number().int(),
    project_id: z.string(),
    hint: z.string(),
    admin: z.boolean(),
    label: z.string().nullable(),
  }),
});

const timeMs = z.number().int().describe('UTC milliseconds');

/** The dashboard's data for a window. */
const unfinished = z.object({
  id: z.string(),
  time_ms: timeMs,
  project: z.string(),
  provider: z.string(),
  model: z.string(),
  agent: z.string(),
  process: z.string(),
  repo: z.string(),
});

const trend = z.array(z.number().nullable());

const Dashboard = z.object({
  now: timeMs,
  window: z.enum(['hour', 'day', 'month']),
  span: z.object({ start: timeMs, end: timeMs }),
  totals: z.object({
    requests: count,
    blocked_requests: count,
    failed_requests: count,
    unpriced_requests: count,
    saved_tokens: count,
    cost_nano_usd: nanoUsd,
    saved_nano_usd: nanoUsd,
  }),
  p95_ms: z.number().nullable(),
  series: z
    .array(nanoUsd.nullable())
    .describe('spend in each minute, hour or day of the window; null in the future'),
  parts: z
    .array(z.object({ name: z.string().nullable(), series: z.array(nanoUsd.nullable()) }))
    .describe(
      'the series by model, agent or project, the dearest first; name is null for all others together',
    ),
  budgets: z.array(BudgetReport),
  asks: z.array(AskReport),
  runaways: z.array(Runaway).describe('sessions that are taken for runaways'),
  limits: z.array(LimitWindow).describe('the windows of subscriptions; none with a project key'),
  imported: z
    .array(Session)
    .describe('sessions with calls in the window that did not come through gw, at list price'),
  running: z
    .array(
      unfinished.extend({
        held_nano_usd: nanoUsd,
        output_tokens: count.nullable().describe('of a stream so far, by its text; null if not known'),
        tokens_per_second: count.nullable().describe('of a stream in the last second'),
        used_nano_usd: nanoUsd.nullable().describe('what a stream comes to so far, about'),
      }),
    )
    .describe('the requests that run, the longest first, at most 50'),
  waiting: z
    .array(unfinished.extend({ needed_nano_usd: nanoUsd }))
    .describe('the requests that wait for room in a budget, the longest first, at most 50'),
  requests: z.array(
    z.object({
      id: z.string(),
      time_ms: timeMs,
      project: z.string(),
      provider: z.string(),
      model: z.string(),
      asked_model: z.string(),
      status: z.number().int(),
      outcome: RequestReport.shape.outcome,
      flags: RequestReport.shape.flags,
      input_tokens: count,
      output_tokens: count,
      cost_nano_usd: nanoUsd,
      duration_ms: z.number(),
      error: z.string().nullable(),
      budget: z.string().nullable().describe('the budget that blocked it'),
    }),
  ),
  models: z.array(
    z.object({ provider: z.string(), model: z.string(), requests: count, cost_nano_usd: nanoUsd }),
  ),
  callers: z.array(
    z.object({ process: z.string(), repo: z.string(), requests: count, cost_nano_usd: nanoUsd }),
  ),
  misses: z
    .array(
      z.object({
        cause: z.enum(Object.keys(MISS_CAUSES) as [MissCause]),
        requests: count,
        missed_tokens: count,
        missed_nano_usd: nanoUsd,
      }),
    )
    .describe("what the providers' caches could have served, by cause"),
  blocked: z.array(
    z.object({ budget: z.string(), count, first_at: timeMs, last_at: timeMs, model: z.string() }),
  ),
  webhooks: z.array(
    z.object({
      id: z.number().int(),
      project: z.string(),
      host: z.string(),
      format: z.string(),
      disabled_reason: z.string().nullable(),
      failed: count,
      open: count,
      due_at: timeMs.nullable(),
      attempts: count,
      attempted_at: timeMs.nullable(),
      status: z.number().int().nullable(),
      error: z.string().nullable(),
    }),
  ),
  providers: z.array(
    z.object({
      ...health,
      last_success_at: timeMs.nullable(),
      last_failure_at: timeMs.nullable(),
      blocks: z.array(z.object({ because: z.string(), until: timeMs })),
    }),
  ),
  trends: z
    .array(
      z.object({
        provider: z.string(),
        first_byte_ms: trend.describe('the mean'),
        tokens_per_second: trend.describe('of output'),
        cached_share: trend.describe('of the input'),
      }),
    )
    .describe('how providers answered in each twelfth of the last hour; null without answers'),
  projects: z.array(z.object({ id: z.number().int(), name: z.string(), paused: z.boolean() })),
  keys: z.array(
    z.object({
      id: z.number().int(),
      project: z.string(),
      hint: z.string(),
      label: z.string().nullable(),
      admin: z.boolean(),
    }),
  ),
});
export type WhoamiView = z.infer<typeof Whoami>;
export type DashboardView = z.infer<typeof Dashboard>;

export const whoami = describe({
  summary: 'the gw that answers, and the key that asks',
  response: Whoami,
});

export const tail = describe({
  summary: 'the requests recorded since the last call with the cursor; without one, following begins',
  query: z.strictObject({
    project_id: only_project,
    status: conditions.status,
    cursor: z.string().optional().describe('expires a minute after its last use'),
  }),
  response: listOf(RequestReport).extend({ next_cursor: z.string() }),
});

export const dashboardView = describe({
  summary:
    'what the dashboard shows, of the project of a project key; data is null if nothing changed since the version `unless`',
  query: z.strictObject({
    window: z.enum(WINDOWS).default('day'),
    kind: z.enum(FEED_KINDS).default('all'),
    text: z.string().default('').describe("part of a model's or project's name"),
    by: z.enum(PARTS).default('model').describe('what the parts of the series are of'),
    limit: z.coerce.number().int().min(1).max(FEED_LIMIT).optional().describe('how many of the requests'),
    unless: z.string().optional(),
  }),
  response: z.object({ object: z.literal('dashboard'), version: z.string(), data: Dashboard.nullable() }),
});
