import { z } from 'zod';
import { badRequest } from '../../errors.ts';
import { parseUsd } from '../../money.ts';
import { AskReport } from '../../reading/ask-schema.ts';
import { BacktestReport, BudgetSuggestion } from '../../reading/backtest-schemas.ts';
import { nanoUsdOf } from '../budgets-endpoint.ts';
import { usageSpan } from '../usage-span.ts';
import { CHANGE_OPERATIONS } from './change-operations.ts';
import { EARLIER_OPERATIONS } from './earlier-operations.ts';
import { openApiDocument } from './openapi.ts';
import { type Operation, operation } from './operation.ts';
import { listOf, READ_OPERATIONS } from './read-operations.ts';
import type { GwRoute } from './route-list.ts';

const ANSWERING = ['answering for budgets', 'gw approve ID'] as const;

const project_id = z.string().optional().describe('default: the project of the key');

/** The operations behind gw's own endpoints. */
export const OPERATIONS: Record<GwRoute, Operation> = {
  ...READ_OPERATIONS,
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
  ...CHANGE_OPERATIONS,
  'GET /v1/gw/asks': operation({
    summary: 'the requests that wait for an answer, the oldest first',
    query: z.strictObject({ project_id: z.string().optional().describe('only this project') }),
    response: listOf(AskReport),
    run: async ({ reader, query: { project_id: project } }) => ({
      object: 'list' as const,
      data: await reader.asks({ project }),
    }),
  }),
  'POST /v1/gw/asks/{id}/approve': operation({
    summary: 'let a request that waits go on: this once, or by a raise of its budget',
    admin: ANSWERING,
    body: z.strictObject({
      once: z.boolean().optional().describe('the default: the budget stays as it is'),
      raise_usd: z.number().optional().describe('is added to the cap of the budget'),
    }),
    response: AskReport,
    async run({ admin, parameters: { id = '' }, body: { once, raise_usd } }) {
      if (once === true && raise_usd !== undefined)
        throw badRequest('give "once" or "raise_usd", not both', 'once');
      const raiseNanoUsd = raise_usd === undefined ? undefined : nanoUsdOf(raise_usd, 'raise_usd');
      return (await admin()).approveAsk({ id, raiseNanoUsd });
    },
  }),
  'POST /v1/gw/asks/{id}/deny': operation({
    summary: 'refuse a request that waits',
    admin: ANSWERING,
    response: AskReport,
    run: async ({ admin, parameters: { id = '' } }) => (await admin()).denyAsk(id),
  }),
  'GET /v1/gw/openapi.json': operation({
    summary: 'this document',
    response: z.record(z.string(), z.unknown()),
    run: async () => openApiDocument({ ...OPERATIONS, ...EARLIER_OPERATIONS }),
  }),
};
