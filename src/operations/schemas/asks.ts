import { z } from 'zod';
import { describe } from '../operation.ts';
import { listOf, money, only_project, time } from './fields.ts';

/** A request that waits for its owner's answer: a budget with `on_limit` `ask` has no room for it, or its session runs away. */
export const AskReport = z.object({
  object: z.literal('ask'),
  id: z.string().describe('such as ask_0kr3x5v2m1c'),
  request_id: z.string(),
  project_id: z.string(),
  budget_id: z.string().describe('the budget that has no room'),
  model: z.string(),
  agent: z.string().nullable(),
  session: z.string().nullable(),
  runaway: z.string().nullable().describe('why its session is taken for a runaway, if that is the question'),
  ...money('needed', 'what the request holds if it is approved'),
  created_at: time,
  expires_at: time.describe('the request is refused then'),
  state: z.enum(['open', 'approved', 'denied', 'expired', 'ended']),
});
export type AskView = z.infer<typeof AskReport>;

const admin = ['answering for budgets', 'gw approve ID'] as const;

export const asks = describe({
  summary: 'the requests that wait for an answer, the oldest first',
  query: z.strictObject({ project_id: only_project }),
  response: listOf(AskReport),
});

export const approveAsk = describe({
  summary: 'let a request that waits go on: this once, or by a raise of its budget',
  admin,
  body: z.strictObject({
    once: z.boolean().optional().describe('the default: the budget stays as it is'),
    raise_usd: z.number().optional().describe('is added to the cap of the budget'),
  }),
  response: AskReport,
});

export const denyAsk = describe({ summary: 'refuse a request that waits', admin, response: AskReport });
