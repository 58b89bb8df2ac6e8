import { z } from 'zod';
import { EACH_KINDS } from '../../store/ledger/terms.ts';
import type { Description } from '../operation.ts';
import { Budget, setBudget } from './budgets.ts';
import { deletedOf, listOf } from './fields.ts';
import { conditions, Request } from './requests.ts';
import { days, source, Usage } from './usage.ts';
import { Delivery } from './webhooks.ts';

const project_id = z.string().optional();
const deliveries = {
  status: z.enum(['pending', 'sending', 'delivered', 'failed']).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
};

/** The endpoints that other files handle. */
export const EARLIER: Record<string, Description> = {
  'GET /v1/usage': {
    summary:
      'usage and cost by day, model, project, program, repository, session, agent, key, or two of them',
    query: z.object({
      ...days,
      ...conditions,
      source,
      group_by: Usage.shape.group_by.optional(),
    }),
    response: Usage,
  },
  'GET /v1/requests/{id}': { summary: 'one request in full', response: Request },
  'POST /v1/requests/{id}/feedback': {
    summary: 'rate an answer',
    body: z.object({ score: z.number().min(0).max(1).optional(), good: z.boolean().optional() }),
    response: z.object({
      object: z.literal('feedback'),
      request_id: z.string(),
      score: z.number(),
      learnt: z.boolean(),
      because: z.string().optional(),
    }),
  },
  'GET /v1/budgets': {
    summary: 'the budgets as they stand',
    query: z.object({ project_id }),
    response: listOf(Budget),
  },
  'PUT /v1/budgets': {
    summary: 'create or change the budget of a project for a period',
    body: setBudget.body,
    response: Budget,
  },
  'DELETE /v1/budgets/{project}/{period}': {
    summary: 'remove a budget',
    query: z.object({
      repo: z.string().optional(),
      run: z.string().optional(),
      key: z.string().optional(),
      session: z.string().optional(),
      agent: z.string().optional(),
      per: z.enum(EACH_KINDS).optional(),
    }),
    response: deletedOf('budget'),
  },
  'GET /v1/webhooks/{id}/deliveries': {
    summary: 'the deliveries to one webhook, newest first',
    query: z.object(deliveries),
    response: listOf(Delivery),
  },
  'GET /v1/deliveries': {
    summary: 'deliveries to webhooks, newest first',
    query: z.object({ project_id, ...deliveries }),
    response: listOf(Delivery),
  },
};
