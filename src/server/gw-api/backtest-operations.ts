import { z } from 'zod';
import { parseUsd } from '../../money.ts';
import { BacktestReport, BudgetSuggestion } from '../../reading/backtest-schemas.ts';
import { usageSpan } from '../usage-span.ts';
import { operation } from './operation.ts';

const project_id = z.string().optional().describe('default: the project of the key');

/** What a cap would have done to past requests, and which one they suggest. */
export const BACKTEST_OPERATIONS = {
  'GET /v1/gw/budgets/backtest': operation({
    summary: 'what a cap would have done to past requests: by default, those of the last 30 days',
    query: z.strictObject({
      project_id,
      cap_usd: z
        .string()
        .transform(parseUsd)
        .refine((amount) => amount !== undefined, {
          error: 'use dollars such as 20 or 0.50, up to 1,000,000',
        })
        .transform((amount) => amount ?? 0),
      period: z.enum(['daily', 'weekly', 'monthly', 'lifetime']).default('daily'),
      from: z.string().optional().describe('first day, YYYY-MM-DD or 7d'),
      to: z.string().optional().describe('last day'),
    }),
    response: BacktestReport,
    async run({ reader, query: { project_id: project, cap_usd, period, from, to }, now }) {
      const today = (await reader.calendar()).dateOf(now());
      return reader.backtest({ project, capNanoUsd: cap_usd, period, ...usageSpan({ from, to }, today) });
    },
  }),
  'GET /v1/gw/budgets/suggest': operation({
    summary: 'a daily cap that the spend of the last 30 days suggests',
    query: z.strictObject({ project_id }),
    response: BudgetSuggestion,
    run: ({ reader, query: { project_id: project } }) => reader.suggestBudget({ project }),
  }),
};
