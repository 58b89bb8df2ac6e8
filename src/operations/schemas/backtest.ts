import { z } from 'zod';
import { parseUsd } from '../../money.ts';
import { describe } from '../operation.ts';
import { budgetScope, scopeQuery } from './budgets.ts';
import { count, nanoUsd, time, usd } from './fields.ts';

const stopped = z
  .object({
    key: z.string().nullable().describe('its label, or its last characters'),
    agent: z.string().nullable(),
    session_id: z.string().nullable(),
    first_at: time,
    blocked_requests: count,
    saved_usd: usd,
    saved_nano_usd: nanoUsd,
  })
  .describe('a client whose requests the cap would have refused');

const sums = {
  requests: count,
  spent_usd: usd,
  spent_nano_usd: nanoUsd,
  blocked_requests: count,
  saved_usd: usd.describe('what the refused requests have cost'),
  saved_nano_usd: nanoUsd,
};

/** The effect of a cap on past requests. */
const BacktestReport = z.object({
  object: z.literal('backtest'),
  project_id: z.string(),
  scope: budgetScope.nullable().describe('what the cap is for; null: all requests of the project'),
  cap_usd: usd,
  cap_nano_usd: nanoUsd,
  period: z.enum(['daily', 'weekly', 'monthly', 'lifetime']),
  from: z.iso.date(),
  to: z.iso.date(),
  timezone: z.string(),
  alert_percent: count,
  exact: z
    .boolean()
    .describe(
      'false where a record lacks its need, or a request was refused that the cap would have admitted',
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
    ...scopeQuery,
  }),
  response: BacktestReport,
});

export const suggestBudget = describe({
  summary: 'a daily cap that the spend of the last 30 days suggests',
  query: z.strictObject({ project_id }),
  response: BudgetSuggestion,
});
