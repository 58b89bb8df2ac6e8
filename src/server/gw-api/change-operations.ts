import { z } from 'zod';
import { notFound } from '../../errors.ts';
import { scopeFromQuery } from '../../reading/budget-scope.ts';
import { BudgetReport, NewKey, Price, RotatedKey } from '../../reading/schemas.ts';
import { PLANS, type Plan } from '../../store/accounts/projects.ts';
import { budgetName, EACH_KINDS } from '../../store/ledger/terms.ts';
import { BudgetBody, knownPeriod, nanoUsdOf, readBudget } from '../budgets-endpoint.ts';
import { operation } from './operation.ts';
import { timeParameter } from './read-operations.ts';

const plan = z.enum(PLANS as [Plan]);
const project_id = z.string();

const expiry = z.iso.datetime({ offset: true }).nullable();
const msOf = (time: string | null) => (time === null ? null : Date.parse(time));

/** The id in a path. Throws GwError 404. */
function keyIdIn(id: string): number {
  if (/^[1-9]\d{0,14}$/.test(id)) return Number(id);
  throw notFound(`"${id}" is not the id of a key. See: gw keys list`, 'key_not_found', 'id');
}

const cut = z
  .boolean()
  .default(false)
  .describe('with paused: also ends the requests that are running; their cost is booked');

const PICO_PER_USD_PER_MILLION = 1_000_000;
const PICO_PER_USD = 1_000_000_000_000;

/** Dollars as pico-USD; undefined without an amount. */
const picoUsd = (usd: number | null, factor: number) => (usd === null ? undefined : Math.round(usd * factor));

/** What the HTTP API changes. */
export const CHANGE_OPERATIONS = {
  'PUT /v1/gw/budgets': operation({
    summary: 'create or change the budget of a project for a period',
    admin: ['changing budgets', 'gw budget set AMOUNT'],
    body: BudgetBody,
    parseBody: readBudget,
    response: BudgetReport,
    run: async ({ admin, caller, body }) => {
      // parseBody returns the terms.
      const terms = body as unknown as ReturnType<typeof readBudget>;
      return (await admin()).setBudget({ ...terms, project: terms.project ?? caller.project });
    },
  }),
  'POST /v1/gw/budgets/raise': operation({
    summary: 'raise the cap of a budget by an amount, for good or for a time',
    admin: ['changing budgets', 'gw budget set AMOUNT'],
    body: z.strictObject({
      budget_id: z.string().describe('such as web/daily'),
      amount_usd: z.number().describe('is added to the cap'),
      for_seconds: z.number().optional().describe('after that, the cap falls back; by default never'),
    }),
    response: BudgetReport,
    run: async ({ admin, body: { budget_id, amount_usd, for_seconds } }) =>
      (await admin()).raiseBudget({
        budget: budget_id,
        amountNanoUsd: nanoUsdOf(amount_usd, 'amount_usd'),
        forMs: for_seconds === undefined ? undefined : for_seconds * 1_000,
      }),
  }),
  'DELETE /v1/gw/budgets/{project}/{period}': operation({
    summary: 'remove a budget',
    admin: ['changing budgets', 'gw budget set AMOUNT'],
    query: z.strictObject({
      repo: z.string().optional().describe('the budget of this repository'),
      run: z.string().optional().describe('the budget of this run'),
      key: z.string().optional().describe('the budget of the key with this label or id'),
      session: z.string().optional().describe('the budget of this session'),
      agent: z.string().optional().describe('the budget of this agent'),
      per: z.enum(EACH_KINDS).optional().describe('the cap for each of these'),
    }),
    response: deletedOf('budget', z.string()),
    run: async ({ admin, parameters: { project = '', period = '' }, query: { repo, ...query } }) => {
      const known = knownPeriod(project, period);
      const scope = scopeFromQuery(query);
      const name = { project, period: known, repo, scope };
      await (await admin()).removeBudget(name);
      const scoped = scope ? { scopeKind: scope.kind, scopeValue: scope.value } : {};
      const id = budgetName({ projectName: project, period: known, repo: repo ?? '', ...scoped });
      return { object: 'budget.deleted' as const, id, deleted: true };
    },
  }),
  'POST /v1/gw/keys': operation({
    summary: 'create a key, which is shown only once',
    admin: ['making and revoking keys', 'gw keys create'],
    body: z.strictObject({
      project_id: project_id.optional().describe("by default the key's own"),
      admin: z.boolean().default(false),
      label: z.string().max(200).nullable().default(null),
      expires_at: expiry.default(null).describe('it is refused from then on; null: never'),
      models: z.array(z.string()).nullable().default(null).describe('the models that it may name; null: all'),
      rpm: z.number().nullable().default(null).describe('requests that it may make in a minute'),
    }),
    response: NewKey,
    run: async ({ admin, caller, body }) => {
      const { project_id: project = caller.project, expires_at, ...rest } = body;
      return (await admin()).createKey({ project, ...rest, expiresAt: msOf(expires_at) });
    },
  }),
  'POST /v1/gw/keys/{id}/rotate': operation({
    summary: 'replace a key by a new one with the same id, limits and budgets',
    admin: ['making and revoking keys', 'gw keys create'],
    body: z.strictObject({
      overlap_seconds: z.number().min(0).default(86_400).describe('how long the former key works too'),
      expires_at: expiry.optional().describe("by default the former key's"),
    }),
    response: RotatedKey,
    run: async ({ admin, parameters: { id = '' }, body: { overlap_seconds, expires_at } }) =>
      (await admin()).rotateKey({
        id: keyIdIn(id),
        overlapMs: overlap_seconds * 1_000,
        expiresAt: expires_at === undefined ? undefined : msOf(expires_at),
      }),
  }),
  'DELETE /v1/gw/keys/{id}': operation({
    summary: 'revoke a key, from the next request',
    admin: ['making and revoking keys', 'gw keys create'],
    response: z.object({ object: z.literal('key.revoked'), id: z.number().int(), revoked: z.boolean() }),
    run: async ({ admin, parameters: { id = '' } }) => {
      const keyId = keyIdIn(id);
      await (await admin()).revokeKey(keyId);
      return { object: 'key.revoked' as const, id: keyId, revoked: true };
    },
  }),
  'POST /v1/gw/projects': operation({
    summary: 'create a project',
    admin: ['changing projects', 'gw projects'],
    body: z.strictObject({ project_id, plan: plan.default('pro') }),
    response: z.object({ object: z.literal('project'), project_id, plan }),
    run: async ({ admin, body }) => {
      await (await admin()).addProject(body.project_id, body.plan);
      return { object: 'project' as const, ...body };
    },
  }),
  'PATCH /v1/gw/projects': operation({
    summary: 'pause or resume all projects',
    admin: ['changing projects', 'gw projects'],
    body: z.strictObject({ paused: z.boolean(), cut }),
    response: z.object({
      object: z.literal('projects'),
      projects: z.array(project_id),
      paused: z.boolean(),
    }),
    run: async ({ admin, body }) => {
      const projects = await (await admin()).pauseAll(body);
      return { object: 'projects' as const, projects, paused: body.paused };
    },
  }),
  'PATCH /v1/gw/projects/{project}': operation({
    summary: 'pause or resume a project, or change its plan',
    admin: ['changing projects', 'gw projects'],
    body: z.strictObject({ plan: plan.optional(), paused: z.boolean().optional(), cut }),
    response: z.object({
      object: z.literal('project'),
      project_id,
      plan: plan.optional(),
      paused: z.boolean().optional(),
    }),
    run: async ({ admin, parameters: { project = '' }, body: { plan, paused, cut } }) => {
      const change = { ...(plan === undefined ? {} : { plan }), ...(paused === undefined ? {} : { paused }) };
      await (await admin()).changeProject(project, { ...change, cut });
      return { object: 'project' as const, project_id: project, ...change };
    },
  }),
  'DELETE /v1/gw/projects/{project}': operation({
    summary: 'remove a project: its keys stop working, its history stays',
    admin: ['changing projects', 'gw projects'],
    response: deletedOf('project', z.string()),
    run: async ({ admin, parameters: { project = '' } }) => {
      await (await admin()).removeProject(project);
      return { object: 'project.deleted' as const, id: project, deleted: true };
    },
  }),
  'DELETE /v1/gw/requests': operation({
    summary: "delete the records of a project's requests; their figures stay in reports",
    admin: ['deleting records', 'gw projects delete-data PROJECT'],
    query: z.strictObject({
      project_id,
      session_id: z.string().optional().describe('only those of this session of an agent'),
    }),
    response: z.object({
      object: z.literal('requests.deleted'),
      project_id,
      session_id: z.string().nullable(),
      deleted: z.number().int(),
    }),
    run: async ({ admin, query: { project_id: project, session_id: session } }) => ({
      object: 'requests.deleted' as const,
      project_id: project,
      session_id: session ?? null,
      deleted: await (await admin()).deleteRecords({ project, session }),
    }),
  }),
  'PUT /v1/gw/prices': operation({
    summary: 'set the price of a model',
    admin: ['changing prices', 'gw prices set MODEL'],
    body: z.strictObject({
      provider: z.string().min(1).nullable().default(null).describe('null: at any provider'),
      model: z.string().min(1),
      input_usd_per_million: z.number().min(0).max(1_000_000),
      output_usd_per_million: z.number().min(0).max(1_000_000),
      cached_input_usd_per_million: z.number().min(0).max(1_000_000).nullable().default(null),
      cache_write_usd_per_million: z.number().min(0).max(1_000_000).nullable().default(null),
      cache_write_1h_usd_per_million: z.number().min(0).max(1_000_000).nullable().default(null),
      usd_per_request: z.number().min(0).max(1_000).nullable().default(null),
    }),
    response: Price,
    run: async ({ admin, body }) => {
      const cachedInput = picoUsd(body.cached_input_usd_per_million, PICO_PER_USD_PER_MILLION);
      const cacheWrite = picoUsd(body.cache_write_usd_per_million, PICO_PER_USD_PER_MILLION);
      const cacheWrite1h = picoUsd(body.cache_write_1h_usd_per_million, PICO_PER_USD_PER_MILLION);
      const fee = picoUsd(body.usd_per_request, PICO_PER_USD);
      await (await admin()).setPrice({
        provider: body.provider ?? '',
        model: body.model,
        inputPicoUsd: Math.round(body.input_usd_per_million * PICO_PER_USD_PER_MILLION),
        outputPicoUsd: Math.round(body.output_usd_per_million * PICO_PER_USD_PER_MILLION),
        ...(cachedInput === undefined ? {} : { cachedInputPicoUsd: cachedInput }),
        ...(cacheWrite === undefined ? {} : { cacheWritePicoUsd: cacheWrite }),
        ...(cacheWrite1h === undefined ? {} : { cacheWrite1hPicoUsd: cacheWrite1h }),
        ...(fee === undefined ? {} : { requestPicoUsd: fee }),
      });
      return body;
    },
  }),
  'DELETE /v1/gw/prices': operation({
    summary: 'remove a price that the user set',
    admin: ['changing prices', 'gw prices set MODEL'],
    query: z.strictObject({ provider: z.string().default(''), model: z.string() }),
    response: z.object({ object: z.literal('price.deleted'), deleted: z.boolean() }),
    run: async ({ admin, query: { provider, model } }) => ({
      object: 'price.deleted' as const,
      deleted: await (await admin()).removePrice(provider, model),
    }),
  }),
  'POST /v1/gw/deliveries/replay-failed': operation({
    summary: 'resend all failed deliveries that match and were not resent yet',
    query: z.strictObject({
      project_id: project_id.optional(),
      webhook_id: z.string().optional(),
      since: timeParameter.optional(),
    }),
    response: z.object({ replayed: z.number().int() }),
    run: async ({ admin, query: { project_id: project, webhook_id: webhook, since } }) => ({
      replayed: await (await admin()).webhooks.replayFailed({
        ...(project === undefined ? {} : { project }),
        ...(webhook === undefined ? {} : { webhook }),
        ...(since === undefined ? {} : { since }),
      }),
    }),
  }),
};

export function deletedOf<Name extends string, Id extends z.ZodType>(name: Name, id: Id) {
  return z.object({ object: z.literal(`${name}.deleted` as const), id, deleted: z.boolean() });
}
