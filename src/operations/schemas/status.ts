import { z } from 'zod';
import { describe } from '../operation.ts';
import { BudgetReport } from './budgets.ts';
import { count, listOf, money, time } from './fields.ts';
import { LimitWindow } from './limits.ts';

const Providers = z.object({
  providers: z.array(
    z.object({
      name: z.string(),
      base_url: z.string(),
      wire: z.enum(['openai', 'anthropic', 'gemini']),
      key_source: z.string(),
      source: z.enum(['config', 'environment', 'built-in']),
    }),
  ),
  problems: z.array(z.object({ name: z.string(), message: z.string() })),
});

/** A provider's calls in the last hour. */
export const health = {
  provider: z.string(),
  attempts: count.describe('calls in the last hour; a request that failed over has several'),
  failed_attempts: count,
  last_failure_status: z.number().int().nullable().describe('0: no answer came'),
  last_failure: z.string().nullable(),
  first_byte_ms: z.number().nullable().describe('the median'),
  failovers: z.array(z.object({ to: z.string(), requests: count })),
};

/** A session that is taken for a runaway. */
export const Runaway = z.object({
  session: z.string(),
  agent: z.string().nullable(),
  project_id: z.string(),
  reason: z.enum(['repeats', 'failures', 'spend']),
  message: z.string().describe('such as "12 turns in a row repeat earlier ones"'),
  found_at: time,
});

/** The data of `gw status`, without the daemon's own state. */
const Status = z.object({
  timezone: z.string(),
  today: z.object({
    requests: count,
    blocked_requests: count,
    failed_requests: count,
    unpriced_requests: count,
    ...money('cost'),
    ...money('saved'),
  }),
  optimizer_week: z
    .object({
      saved_tokens: count,
      ...money('saved'),
      left_requests: count.describe('sent as they came'),
    })
    .optional()
    .describe('what compression did in the last 7 days'),
  budgets: z.array(BudgetReport),
  limits: z
    .array(LimitWindow)
    .optional()
    .describe('windows of subscriptions, if there are any, for admin keys'),
  runaways: z.array(Runaway).optional().describe('sessions that are taken for runaways, if there are any'),
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

/** A bound of holds that is off because a provider's report exceeded it. */
const DistrustedBound = z.object({
  provider: z.string(),
  model: z.string(),
  bound: z.string(),
  at: time,
  request_id: z.string(),
});

export type StatusView = z.infer<typeof Status>;
export type RunawayView = z.infer<typeof Runaway>;
export type DistrustedBoundView = z.infer<typeof DistrustedBound>;

export const providers = describe({
  summary: 'the providers, and those that cannot be used',
  response: Providers,
});

export const status = describe({
  summary: "today's usage, the budgets, the providers and their problems",
  response: Status,
});

export const distrustedBounds = describe({
  summary: "the bounds of holds that are off because a provider's report exceeded them",
  response: listOf(DistrustedBound),
});

export const openapi = describe({
  summary: 'this document',
  response: z.record(z.string(), z.unknown()),
});
