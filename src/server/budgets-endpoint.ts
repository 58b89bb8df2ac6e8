import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Calendar } from '../calendar.ts';
import { badRequest, notFound } from '../errors.ts';
import { type NanoUsd, parseUsd } from '../money.ts';
import { mustBeOwn } from '../own-project.ts';
import { scopeFromJson, scopeFromQuery } from '../reading/budget-scope.ts';
import { allStandings } from '../reading/local/all-standings.ts';
import { mapInSlices } from '../reading/local/map-in-slices.ts';
import type { Caller } from '../store/accounts/callers.ts';
import { getProject, listProjects, type Project } from '../store/accounts/projects.ts';
import { budgetResponse } from '../store/budgets/budget-response.ts';
import { budgetName, removeBudget, setBudget } from '../store/budgets/budgets.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import { ON_LIMITS } from '../store/ledger/terms.ts';
import { mustBeAdmin, mustNameOwn } from './caller-rights.ts';
import { readJson } from './read-json.ts';

export interface BudgetsContext {
  db: Db;
  ledger: Pick<Ledger, 'standings' | 'write'>;
  calendar: Calendar;
  now: number;
}

const PERIODS = ['daily', 'weekly', 'monthly', 'rolling', 'lifetime'] as const;

const CHANGING = ['changing budgets', 'gw budget set AMOUNT'] as const;

export const BudgetBody = z.strictObject({
  project_id: z.string().optional(),
  period: z.enum(PERIODS).default('daily'),
  cap_usd: z.union([z.number(), z.string()]),
  alert_percent: z.number().optional(),
  alert_percents: z.array(z.number()).optional(),
  window_seconds: z.number().int().optional(),
  on_limit: z
    .enum(ON_LIMITS)
    .optional()
    .describe('ask: a request that the budget has no room for waits for its owner'),
  /** Path of a git repository's main working tree. */
  repo: z.string().startsWith('/').max(200).optional(),
  scope: z
    .strictObject({
      kind: z.enum(['repo', 'run', 'key', 'session', 'agent']),
      value: z.string().min(1).max(200).nullable().describe('null: a cap for each'),
    })
    .nullable()
    .optional(),
});

/** `GET /v1/budgets`: the standings of the key's project or of `project_id`; an admin key without one sees all. */
export async function listBudgetsEndpoint(
  caller: Caller,
  query: Record<string, string>,
  context: BudgetsContext,
) {
  const projects = query.project_id
    ? [await ownProject(caller, query.project_id, context.db)]
    : (await listProjects(context.db)).filter((project) => caller.admin || project.id === caller.projectId);
  const { ledger, now } = context;
  const standings = await allStandings(
    ledger,
    projects.map(({ id }) => id),
  );
  return {
    object: 'list',
    data: await mapInSlices(standings, (slice) => slice.map((standing) => budgetResponse(standing, now))),
  };
}

/**
 * `PUT /v1/budgets`: creates or changes a project's budget for a period. Needs an admin key: a cap limits what other
 * keys can do. Throws GwError 400, 403 and 404.
 */
export async function putBudgetEndpoint(caller: Caller, request: IncomingMessage, context: BudgetsContext) {
  if (!caller.admin) mustNameOwn(caller, await readJson(request).catch(() => undefined));
  mustBeAdmin(caller, ...CHANGING);
  const { project: name = caller.project, ...terms } = readBudget(await readJson(request));
  const project = await ownProject(caller, name, context.db);
  await waitForTurn(context);
  const standing = await setBudget(context.db, project, terms, context);
  return budgetResponse(standing, context.now);
}

/** The terms in a body. Throws GwError 400. */
export function readBudget(value: unknown) {
  const body = parse(value);
  const repo = body.repo ?? (body.scope?.kind === 'repo' ? (body.scope.value ?? undefined) : undefined);
  const scope = body.scope ? scopeFromJson(body.scope) : undefined;
  if (repo !== undefined && scope !== undefined)
    throw badRequest('a budget is for one thing: "repo" or "scope"', 'scope');
  return {
    period: body.period,
    capNanoUsd: nanoUsdOf(body.cap_usd, 'cap_usd'),
    scope,
    ...(body.project_id === undefined ? {} : { project: body.project_id }),
    ...(body.alert_percents === undefined ? {} : { alertPercents: body.alert_percents }),
    ...(body.alert_percent === undefined ? {} : { alertPercent: body.alert_percent }),
    ...(repo === undefined ? {} : { repo }),
    ...(body.on_limit === undefined ? {} : { onLimit: body.on_limit }),
    ...(body.window_seconds === undefined ? {} : { windowMs: body.window_seconds * 1000 }),
  };
}

/** `DELETE /v1/budgets/{project}/{period}`; `?repo=`, `?key=`, `?session=`, `?agent=`, `?run=` or `?per=` selects one. Throws GwError 403, 404. */
export async function deleteBudgetEndpoint(
  caller: Caller,
  { project: name = '', period = '', repo = '', ...query }: Readonly<Record<string, string>>,
  context: BudgetsContext,
) {
  mustNameOwn(caller, { project_id: name });
  mustBeAdmin(caller, ...CHANGING);
  const known = knownPeriod(name, period);
  const project = await ownProject(caller, name, context.db);
  await waitForTurn(context);
  const scope = scopeFromQuery(query);
  await removeBudget(context.db, project, { period: known, repo, scope }, context.now);
  const scoped = scope ? { scopeKind: scope.kind, scopeValue: scope.value } : {};
  const id = budgetName({ projectName: name, period: known, repo, ...scoped });
  return { object: 'budget.deleted', id, deleted: true };
}

/** The period in a path. Throws GwError 404. */
export function knownPeriod(project: string, period: string) {
  const known = PERIODS.find((each) => each === period);
  if (known) return known;
  throw notFound(`no budget "${project}/${period}". See: gw budget list`, 'budget_not_found');
}

/** Waits until the ledger may write: a budget changes in a transaction of its own, which a checkpoint must not meet. */
async function waitForTurn({ ledger }: BudgetsContext): Promise<void> {
  await ledger.write(() => {});
}

function parse(value: unknown): z.infer<typeof BudgetBody> {
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
  if (field === 'cap_usd') {
    throw badRequest('"cap_usd" must be an amount in dollars, such as 5 or "0.50"', field);
  }
  throw badRequest(`"${field}": ${issue?.message ?? 'invalid value'}`, field);
}

/** An amount in a body. Throws GwError 400. */
export function nanoUsdOf(usd: number | string, field: string): NanoUsd {
  const amount = parseUsd(decimal(usd));
  if (amount !== undefined) return amount;
  throw badRequest(
    `"${field}" is ${JSON.stringify(usd)}: use an amount from 0 to 1000000 with at most 9 decimal places`,
    field,
  );
}

/** The amount in decimal notation: `String` writes numbers below a millionth as `1e-7`. */
function decimal(amount: number | string): string {
  if (typeof amount === 'string') return amount;
  const text = amount.toFixed(9);
  return Number(text) === amount ? text : String(amount);
}

async function ownProject(caller: Caller, name: string, db: Db): Promise<Project> {
  mustBeOwn(caller, name, 'project_id');
  return getProject(db, name);
}
