import { z } from 'zod';
import { badRequest } from '../../errors.ts';
import { EACH_CHOICES, isEachKind, ON_LIMITS, PERIODS, RUNAWAY_ACTIONS } from '../../store/ledger/terms.ts';
import { describe } from '../operation.ts';
import { count, deletedOf, listOf, money, nanoUsd, only_project, time, usd } from './fields.ts';

const scopeKind = z.union([
  z.enum(['repo', 'run', 'key', 'session', 'agent', 'model', 'provider']),
  z.templateLiteral(['label:', z.string().regex(/^[A-Za-z][\w.-]{0,63}$/)]),
]);

export const budgetScope = z.object({
  kind: scopeKind,
  value: z.string().nullable().describe('null: a cap for each'),
});

/** What a budget is for, as query parameters. */
export const scopeQuery = {
  key: z.string().optional().describe('the budget of the key with this label or id'),
  session: z.string().optional().describe('the budget of this session'),
  agent: z.string().optional().describe('the budget of this agent'),
  model: z.string().optional().describe('the budget of this pattern of models'),
  provider: z.string().optional().describe('the budget of this provider'),
  label: z.string().optional().describe('the budget of this label, NAME=VALUE'),
};

/** The kind of a cap for each. */
export const per = z
  .string()
  .refine(isEachKind, { error: `use ${EACH_CHOICES}` })
  .optional()
  .describe('the cap for each of these');

export const Budget = z.object({
  object: z.literal('budget'),
  id: z.string().describe('such as web/daily'),
  project_id: z.string(),
  period: z.enum(['daily', 'weekly', 'monthly', 'rolling', 'lifetime']),
  repo: z.string().nullable(),
  scope: budgetScope.nullable().describe('what it counts; null: all requests of the project'),
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
    .enum(ON_LIMITS)
    .describe(
      'what happens to a request that it has no room for; ask: its owner is asked first; fallback: it goes to a cheaper model',
    ),
  fallback: z.array(z.string()).nullable().describe('the cheaper models, in order'),
  fallback_percent: count.describe('from which share of the cap on requests go there'),
  runaway: z
    .enum(RUNAWAY_ACTIONS)
    .describe('what happens to requests of a session that is taken for a runaway'),
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
  ...money('remaining'),
});
export type BudgetView = z.infer<typeof BudgetReport>;

const BudgetBody = z.strictObject({
  project_id: z.string().optional(),
  period: z.enum(PERIODS).default('daily'),
  cap_usd: z.union([z.number(), z.string()]),
  alert_percent: z.number().optional(),
  alert_percents: z.array(z.number()).optional(),
  window_seconds: z.number().int().optional(),
  on_limit: z
    .enum(ON_LIMITS)
    .optional()
    .describe(
      'ask: a request that the budget has no room for waits for its owner; fallback: it goes to a cheaper model',
    ),
  fallback: z
    .array(z.string().regex(/^[^\s,|]+$/, 'use models such as openai/gpt-5-mini'))
    .min(1)
    .max(10)
    .optional()
    .describe('with fallback: the cheaper models, in order'),
  fallback_percent: z
    .number()
    .optional()
    .describe('from which share of the cap on requests go there; default: 100'),
  runaway: z
    .enum(RUNAWAY_ACTIONS)
    .optional()
    .describe('block: refuse requests of sessions that run away; ask: ask their owner; alert: say so'),
  /** Path of a git repository's main working tree. */
  repo: z.string().startsWith('/').max(200).optional(),
  scope: z
    .strictObject({
      kind: scopeKind,
      value: z.string().min(1).max(200).nullable().describe('null: a cap for each'),
    })
    .nullable()
    .optional(),
});

/** Throws GwError 400. */
function parseBudget(value: unknown): z.infer<typeof BudgetBody> {
  const result = BudgetBody.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    throw badRequest(
      `unknown field "${key}": a budget has ${Object.keys(BudgetBody.shape).join(', ')}`,
      key,
      'unknown_field',
    );
  }
  const field = issue?.path.join('.') ?? '';
  if (field === '') throw badRequest('the request body must be a JSON object such as {"cap_usd":5}');
  if (field === 'cap_usd')
    throw badRequest('"cap_usd" must be an amount in dollars, such as 5 or "0.50"', field);
  throw badRequest(`"${field}": ${issue?.message ?? 'invalid value'}`, field);
}

const admin = ['changing budgets', 'gw budget set AMOUNT'] as const;

export const budgets = describe({
  summary: 'the budgets as they stand',
  query: z.strictObject({
    project_id: only_project,
    repo: z.string().optional().describe('only budgets that count requests from this repository'),
  }),
  response: listOf(BudgetReport),
});

export const setBudget = describe({
  summary: 'create or change the budget of a project for a period',
  admin,
  body: BudgetBody,
  parseBody: parseBudget,
  response: BudgetReport.extend({
    warnings: z
      .array(z.string())
      .optional()
      .describe('what is to be said of its provider, model or cheaper models'),
  }),
});

export const raiseBudget = describe({
  summary: 'raise the cap of a budget by an amount, for good or for a time',
  admin,
  body: z.strictObject({
    budget_id: z.string().describe('such as web/daily'),
    amount_usd: z.number().describe('is added to the cap'),
    for_seconds: z.number().optional().describe('after that, the cap falls back; by default never'),
  }),
  response: BudgetReport,
});

export const removeBudget = describe({
  summary: 'remove a budget',
  admin,
  query: z.strictObject({
    repo: z.string().optional().describe('the budget of this repository'),
    run: z.string().optional().describe('the budget of this run'),
    ...scopeQuery,
    per,
  }),
  response: deletedOf('budget'),
});
