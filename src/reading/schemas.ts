import { z } from 'zod';
import { byColumnName } from '../store/database/columns.ts';
import {
  FLAGS,
  type Flag,
  MISS_CAUSES,
  type MissCause,
  OUTCOMES,
  type Outcome,
  SOURCES,
  type Source,
} from '../store/ledger/record.ts';
import { shownAs } from '../store/ledger/request-columns.ts';
import { AskReport } from './ask-schema.ts';
import type { Key, NewKey, RotatedKey } from './key-schemas.ts';
import { count, nanoUsd, time, usd } from './usage-schemas.ts';

export { Key, NewKey, RotatedKey } from './key-schemas.ts';
export {
  Session,
  type SessionView,
  TeamUsageReport,
  type TeamUsageView,
  Usage,
  UsageReport,
  UsageTrends,
  type UsageTrendsView,
  type UsageView,
  type UsageViewRow,
} from './usage-schemas.ts';

/*
 * The objects that reading commands print with `--json` and that `/v1/gw` returns. The OpenAPI document is generated
 * from these, and a test validates real answers against it. Commands import the types alone, so they load no zod.
 */

export const Budget = z.object({
  object: z.literal('budget'),
  id: z.string().describe('such as web/daily'),
  project_id: z.string(),
  period: z.enum(['daily', 'weekly', 'monthly', 'rolling', 'lifetime']),
  repo: z.string().nullable(),
  scope: z
    .object({
      kind: z.enum(['repo', 'run', 'key', 'session', 'agent']),
      value: z.string().nullable().describe('null: a cap for each'),
    })
    .nullable()
    .describe('what it counts; null: all requests of the project'),
  fullest: z
    .string()
    .nullable()
    .optional()
    .describe('of a cap for each: the one that the figures are of, which has spent and holds most'),
  window_seconds: z.number().nullable(),
  cap_usd: usd,
  alert_percent: count.describe('the lowest of alert_percents'),
  alert_percents: z.array(count),
  alert_usd: usd,
  spent_usd: usd,
  held_usd: usd,
  left_usd: usd,
  team: z.boolean().optional().describe("a team's budget: cap, spend and left are the team's"),
  granted_usd: usd.optional().describe('of a team budget: what this gateway may spend in the period, in all'),
  team_left_usd: usd.optional().describe('of a team budget: the cap, less what all gateways have spent'),
  unreachable_since: time.nullable().optional().describe("since when the team's database does not answer"),
  resets_at: time.nullable().describe('null: never'),
  on_limit: z
    .enum(['block', 'ask'])
    .describe('what happens to a request that it has no room for; ask: its owner is asked first'),
  raised_usd: usd.describe('the part of the cap that ends by itself'),
  raised_until: time.nullable().describe('when the first such raise ends'),
  exceeded: z.boolean(),
  reached_at: time.nullable().describe('when the cap is reached at the present rate; null if it lasts'),
});

export const BudgetReport = Budget.extend({
  cap_nano_usd: nanoUsd,
  spent_nano_usd: nanoUsd,
  held_nano_usd: nanoUsd,
  left_nano_usd: nanoUsd,
  budget_id: z.string(),
  remaining_usd: usd,
  remaining_nano_usd: nanoUsd,
});

const request = {
  object: z.literal('request'),
  id: z.string(),
  created_at: time,
  project_id: z.string(),
  endpoint: z.string(),
  provider: z.string(),
  model: z.string(),
  asked_model: z.string(),
  status: z.number().int(),
  outcome: z.enum(Object.keys(OUTCOMES) as [Outcome]),
  count: count
    .optional()
    .describe('how many refusals of the key in that minute the record stands for, if several'),
  last_at: time.optional().describe('when the last of them was refused'),
  flags: z.array(z.enum(Object.keys(FLAGS) as [Flag])),
  ...byColumnName(shownAs('count'), () => count),
  cost_usd: usd.nullable().describe('null if the price is unknown'),
  saved_usd: usd,
  held_usd: usd,
  ...byColumnName(shownAs('ms'), () => z.number()),
  ...byColumnName(shownAs('msOrNull'), () => z.number().nullable()),
  process: z.string().nullable(),
  repo: z.string().nullable(),
  key_hint: z.string().nullable().describe('the last four characters of the key'),
  agent: z.string().nullable(),
  agent_version: z.string().nullable(),
  session_id: z.string().nullable().describe("the agent's own id of its session"),
  source: z.enum(Object.keys(SOURCES) as [Source]),
  held_at: time.nullable(),
  settled_at: time.nullable(),
  timings: z
    .object({
      body_ms: z.number().nullable(),
      compressed_ms: z.number().nullable(),
      held_ms: z.number().nullable(),
      sent_ms: z.number().nullable(),
    })
    .describe('when each stage ended, in milliseconds after the request came in'),
  upstream_message_id: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
};

export const Request = z.object(request);

export const RequestReport = z.object({
  ...request,
  cost_nano_usd: nanoUsd,
  saved_nano_usd: nanoUsd,
  held_nano_usd: nanoUsd,
});

export const Project = z.object({
  project_id: z.string(),
  plan: z.enum(['free', 'pro', 'team']),
  created_at: time,
  paused_at: time.nullable(),
});

const tierRates = {
  input_usd_per_million: usd.nullable(),
  output_usd_per_million: usd.nullable(),
  cached_input_usd_per_million: usd.nullable(),
  cache_write_usd_per_million: usd.nullable(),
};
const rates = {
  ...tierRates,
  cache_write_1h_usd_per_million: usd.nullable(),
  usd_per_request: usd.nullable(),
};

/** A price that the user set. */
export const Price = z.object({ provider: z.string().nullable(), model: z.string(), ...rates });

/** The price in force of a model at a provider. */
export const PriceInForce = z.object({
  provider: z.string(),
  model: z.string(),
  ...rates,
  tiers: z.array(z.object({ over_tokens: count, ...tierRates })),
  service_prices: z
    .array(z.object({ field: z.string(), value: z.string(), factor: z.number() }))
    .describe('service options of the request, with the factor of the listed prices'),
  source: z.string(),
});

export const Providers = z.object({
  providers: z.array(
    z.object({
      name: z.string(),
      base_url: z.string(),
      wire: z.enum(['openai', 'anthropic']),
      key_source: z.string(),
      source: z.enum(['config', 'environment', 'built-in']),
    }),
  ),
  problems: z.array(z.object({ name: z.string(), message: z.string() })),
});

/** A provider's calls in the last hour. */
const health = {
  provider: z.string(),
  attempts: count.describe('calls in the last hour; a request that failed over has several'),
  failed_attempts: count,
  last_failure_status: z.number().int().nullable().describe('0: no answer came'),
  last_failure: z.string().nullable(),
  first_byte_ms: z.number().nullable().describe('the median'),
  failovers: z.array(z.object({ to: z.string(), requests: count })),
};

/** This gateway's membership in a team, and the team's budgets. */
export const Team = z.object({
  object: z.literal('team'),
  name: z.string().nullable().describe('null: this gateway belongs to no team'),
  gateway_id: count.nullable(),
  gateway: z.string().nullable().describe("this gateway's name in the team"),
  timezone: z.string().nullable(),
  joined_at: time.nullable(),
  synced_at: time.nullable().describe("when the team's database last answered"),
  unreachable_since: time.nullable(),
  failure: z.string().nullable().describe('why the last sync failed'),
  frozen: z.boolean().describe('nothing is granted after a failover, until gw team recover'),
  courier: z.boolean().describe("this gateway delivers the team's events"),
  clock_offset_ms: z.number().nullable().describe("how far this machine's clock is behind the team's"),
  leaving: z.boolean(),
  budgets: z.array(
    BudgetReport.extend({
      room_usd: usd.describe('what new requests may use here without asking the team'),
      spent_here_usd: usd,
      short: z.boolean().describe('money is short: gateways return what no request holds'),
      gateways: count.describe('how many gateways have lately synced'),
    }),
  ),
});

/** What `gw status` shows besides the daemon itself. */
export const Status = z.object({
  timezone: z.string(),
  today: z.object({
    requests: count,
    blocked_requests: count,
    failed_requests: count,
    unpriced_requests: count,
    cost_usd: usd,
    cost_nano_usd: nanoUsd,
    saved_usd: usd,
    saved_nano_usd: nanoUsd,
  }),
  optimizer_week: z
    .object({
      saved_tokens: count,
      saved_usd: usd,
      saved_nano_usd: nanoUsd,
      left_requests: count.describe('sent as they came'),
    })
    .optional()
    .describe('what compression did in the last 7 days'),
  budgets: z.array(BudgetReport),
  providers: z.array(z.string()),
  provider_health: z.array(
    z.object({
      ...health,
      source: z
        .enum(['config', 'environment', 'built-in', 'removed'])
        .describe('where the provider is configured'),
      error_share: z.number().nullable(),
      last_success_at: time.nullable(),
      last_failure_at: time.nullable(),
      blocks: z.array(z.object({ because: z.string(), until: time })),
    }),
  ),
  problems: z.array(z.string()),
});

/** The gw that answers, and the key that asks. */
export const Whoami = z.object({
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

/** A bound of holds that is off because a provider's report exceeded it. */
export const DistrustedBound = z.object({
  provider: z.string(),
  model: z.string(),
  bound: z.string(),
  at: time,
  request_id: z.string(),
});

const timeMs = z.number().int().describe('UTC milliseconds');

/** What the dashboard shows of a window. */
export const Dashboard = z.object({
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
  budgets: z.array(BudgetReport),
  asks: z.array(AskReport),
  requests: z.array(
    z.object({
      id: z.string(),
      time_ms: timeMs,
      project: z.string(),
      provider: z.string(),
      model: z.string(),
      asked_model: z.string(),
      status: z.number().int(),
      outcome: request.outcome,
      flags: request.flags,
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

export type BudgetView = z.infer<typeof BudgetReport>;
export type RequestView = z.infer<typeof RequestReport>;
export type KeyView = z.infer<typeof Key>;
export type NewKeyView = z.infer<typeof NewKey>;
export type RotatedKeyView = z.infer<typeof RotatedKey>;
export type ProjectView = z.infer<typeof Project>;
export type PriceView = z.infer<typeof Price>;
export type PriceInForceView = z.infer<typeof PriceInForce>;
export type ProvidersView = z.infer<typeof Providers>;
export type StatusView = z.infer<typeof Status>;
export type TeamView = z.infer<typeof Team>;
export type WhoamiView = z.infer<typeof Whoami>;
export type DistrustedBoundView = z.infer<typeof DistrustedBound>;
export type DashboardView = z.infer<typeof Dashboard>;
