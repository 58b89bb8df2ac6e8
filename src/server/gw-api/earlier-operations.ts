import { z } from 'zod';
import { Budget, Request, Usage } from '../../reading/schemas.ts';
import { Delivery, NewWebhook, Webhook, WebhookTest } from '../../reading/webhook-schemas.ts';
import { EACH_KINDS } from '../../store/ledger/terms.ts';
import { CHANGE, REGISTRATION } from '../../webhooks/validate.ts';
import { BudgetBody } from '../budgets-endpoint.ts';
import { deletedOf } from './change-operations.ts';
import type { Description } from './operation.ts';
import { listOf, source, span } from './read-operations.ts';
import type { EarlierRoute } from './route-list.ts';

const project_id = z.string().optional();
const deliveries = {
  status: z.enum(['pending', 'sending', 'delivered', 'failed']).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
};

/** The endpoints that other files handle. */
export const EARLIER_OPERATIONS: Record<EarlierRoute, Description> = {
  'GET /v1/usage': {
    summary:
      'usage and cost by day, model, project, program, repository, session, agent, key, or two of them',
    query: z.object({
      ...span,
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
    body: BudgetBody,
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
    response: deletedOf('budget', z.string()),
  },
  'POST /v1/webhooks': { summary: 'register a webhook', body: REGISTRATION, response: NewWebhook },
  'GET /v1/webhooks': {
    summary: 'the webhooks',
    query: z.object({ project_id }),
    response: listOf(Webhook),
  },
  'GET /v1/webhooks/{id}': { summary: 'one webhook', response: Webhook },
  'PATCH /v1/webhooks/{id}': { summary: 'change a webhook', body: CHANGE, response: Webhook },
  'DELETE /v1/webhooks/{id}': {
    summary: 'remove a webhook and its deliveries',
    response: deletedOf('webhook', z.string()),
  },
  'POST /v1/webhooks/{id}/test': { summary: 'send a sample event now', response: WebhookTest },
  'POST /v1/webhooks/{id}/rotate': { summary: 'give a webhook a new secret', response: NewWebhook },
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
  'POST /v1/deliveries/{id}/replay': { summary: 'resend a finished delivery', response: Delivery },
};
