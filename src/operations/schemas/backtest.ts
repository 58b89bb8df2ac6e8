import { z } from 'zod';
import { parseUsd } from '../../money.ts';
import { describe } from '../operation.ts';
import { budgetScope, per, scopeQuery } from './budgets.ts';
import { count, money, nanoUsd, time, usd } from './fields.ts';

const stopped = z
  .object({
    key: z.string().nullable().describe('its label, or its last characters'),
    agent: z.string().nullable(),
    session_id: z.string().nullable(),
    first_at: time,
    blocked_requests: count,
    ...money('saved'),
  })
  .describe('a client whose requests the cap would have refused');

const sums = {
  requests: count,
  ...money('spent'),
  blocked_requests: count,
  fallback_requests: count.describe('what would have gone to a cheaper model'),
  ...money('saved', 'what the refused requests have cost, and cheaper models would have saved'),
};

const member = z
  .object({ name: z.string(), ...sums, hit_at: time.describe('the first refusal or cheaper model') })
  .describe('a session, say, that has a cap of its own');

const cheaperModel = z.object({
  model: z.string(),
  input_usd_per_million: usd.nullable(),
  output_usd_per_million: usd.nullable(),
  requests: count.describe('what would have gone there'),
  ...money('cost', 'its list price of the recorded tokens'),
  ...money('own_cost', 'what these requests cost with their own models'),
});

/** The effect of a cap on past requests. */
const BacktestReport = z.object({
  object: z.literal('backtest'),
  project_id: z.string(),
  scope: budgetScope.nullable().describe('what the cap is for; null: all requests of the project'),
  ...money('cap'),
  period: z.enum(['daily', 'weekly', 'monthly', 'lifetime']),
  from: z.iso.date(),
  to: z.iso.date(),
  timezone: z.string(),
  alert_percent: count,
  exact: z
    .boolean()
    .describe(
      'false where a record lacks its need, a request was refused that the cap would have admitted, or a cheaper model served or would have served one',
    ),
  periods: z.array(
    z.object({
      start: time,
      ...sums,
      alert_at: time.nullable(),
      stopped_at: time.nullable().describe('when the first request would have been refused'),
      stopped: z.array(stopped).describe('at most 20, the first to be refused first'),
    }),
  ),
  total: z.object({ ...sums, periods: count, stopped_periods: count }),
  members: z
    .object({
      total: count,
      hit: count.describe('those with a request refused or sent to a cheaper model'),
      most_hit: z.array(member).describe('at most 20, the one with most such requests first'),
    })
    .nullable()
    .describe('of a cap for each; else null'),
  fallback: z
    .object({ from_percent: count, models: z.array(cheaperModel) })
    .nullable()
    .describe('the cheaper models, in order; null without'),
});
export type BacktestView = z.infer<typeof BacktestReport>;

/** A cap that the spend of the last days suggests. */
const BudgetSuggestion = z.object({
  object: z.literal('budget_suggestion'),
  project_id: z.string(),
  cap_usd: usd.nullable().describe('null: nothing was spent'),
  cap_nano_usd: nanoUsd.nullable(),
  period: z.literal('daily'),
  percentile: count,
  headroom_percent: count,
  reason: z.string(),
});
export type BudgetSuggestionView = z.infer<typeof BudgetSuggestion>;

const project_id = z.string().optional().describe('default: the project of the key');

export const backtest = describe({
  summary: 'what a cap would have done to past requests: by default, those of the last 30 days',
  query: z.strictObject({
    project_id,
    cap_usd: z.string().refine((amount) => parseUsd(amount) !== undefined, {
      error: 'use dollars such as 20 or 0.50, up to 1,000,000',
    }),
    period: z.enum(['daily', 'weekly', 'monthly', 'lifetime']).default('daily'),
    from: z.string().optional().describe('first day, YYYY-MM-DD or 7d'),
    to: z.string().optional().describe('last day'),
    repo: z.string().optional().describe('for one git repository: its path'),
    ...scopeQuery,
    per,
    fallback: z.string().optional().describe('cheaper models for requests beyond it, separated by commas'),
    fallback_percent: z.coerce
      .number({ error: 'use a whole number from 1 to 100' })
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe('from which share of the cap on requests go there; default: 100'),
  }),
  response: BacktestReport,
});

export const suggestBudget = describe({
  summary: 'a daily cap that the spend of the last 30 days suggests',
  query: z.strictObject({ project_id }),
  response: BudgetSuggestion,
});
