import { badRequest, notFound } from '../../errors.ts';
import { mustBeOwn } from '../../own-project.ts';
import { projectIds } from '../../store/accounts/projects.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import * as store from '../../store/budgets/budgets.ts';
import { getOwner, isSeveral } from '../../store/budgets/owner.ts';
import * as raises from '../../store/budgets/raise-budget.ts';
import type { Standing } from '../../store/ledger/standing.ts';
import { PERIODS } from '../../store/ledger/terms.ts';

import { nanoUsdOf, scopeFromJson, scopeFromQuery } from '../budget-scope.ts';
import { checkCapped, checkCheaperModels } from '../fallback-names.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/budgets.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { mapInSlices } from '../standings.ts';

export async function budgets(
  { db, scope, standings, now }: Sources,
  { project_id, repo }: Input<typeof described.budgets>,
): Promise<described.BudgetView[]> {
  const isShared = project_id !== undefined && isSeveral(project_id);
  if (isShared) mustBeOwn(scope, project_id, 'project_id');
  const owner = isShared ? await getOwner(db, project_id) : undefined;
  const projectId = owner?.id ?? projectToRead(db, scope, project_id);
  const all = await standings(projectId === undefined ? projectIds(db) : [projectId]);
  const own = (view: described.BudgetView): described.BudgetView =>
    scope.admin || view.project_id === scope.project || view.fullest == null
      ? view
      : { ...view, fullest: null };
  const views = await mapInSlices(all, (slice) => slice.map((standing) => own(viewBudget(standing, now()))));
  return views.filter(
    (budget) =>
      (repo === undefined || budget.repo === null || budget.repo === repo) &&
      (owner === undefined || budget.project_id === owner.name),
  );
}

export async function setBudget(
  sources: Sources,
  body: Input<typeof described.setBudget>,
): Promise<described.BudgetView & { warnings?: string[] }> {
  const { db, scope: caller, calendar, change, now } = sources;
  const { project_id = caller.project, period = 'daily' } = body;
  const repo = body.repo ?? (body.scope?.kind === 'repo' ? (body.scope.value ?? undefined) : undefined);
  const scope = body.scope ? scopeFromJson(body.scope) : undefined;
  if (repo !== undefined && scope !== undefined)
    throw badRequest('a budget is for one thing: "repo" or "scope"', 'scope');
  const terms = {
    period,
    capNanoUsd: nanoUsdOf(body.cap_usd, 'cap_usd'),
    scope,
    repo,
    alertPercents: body.alert_percents,
    alertPercent: body.alert_percent,
    onLimit: body.on_limit ?? (body.fallback && 'fallback'),
    fallback: body.fallback?.join(','),
    fallbackPercent: body.fallback_percent,
    runaway: body.runaway,
    windowMs: body.window_seconds === undefined ? undefined : body.window_seconds * 1_000,
  };
  const warnings = [
    ...(scope ? await checkCapped(sources, scope) : []),
    ...(body.fallback ? await checkCheaperModels(sources, body.fallback) : []),
  ];
  return change(async () => {
    const context = { calendar, now: now() };
    const owner = await getOwner(db, project_id);
    const view = viewBudget(await store.setBudget(db, owner, terms, context), context.now);
    return warnings.length > 0 ? { ...view, warnings } : view;
  });
}

export async function raiseBudget(
  { db, calendar, change, now }: Sources,
  { budget_id, amount_usd, for_seconds }: Input<typeof described.raiseBudget>,
): Promise<described.BudgetView> {
  const raise = {
    budget: budget_id,
    amountNanoUsd: nanoUsdOf(amount_usd, 'amount_usd'),
    forMs: for_seconds === undefined ? undefined : for_seconds * 1_000,
  };
  return change(async () => {
    const context = { calendar, now: now() };
    return viewBudget(await raises.raiseBudget(db, raise, context), context.now);
  });
}

export async function removeBudget(
  { db, change, now }: Sources,
  {
    project,
    period,
    repo = '',
    ...query
  }: { project: string; period: string } & Input<typeof described.removeBudget>,
) {
  const known = PERIODS.find((each) => each === period);
  if (!known) throw notFound(`no budget "${project}/${period}". See: gw budget list`, 'budget_not_found');
  const scope = scopeFromQuery(query);
  await change(async () =>
    store.removeBudget(db, await getOwner(db, project), { period: known, repo, scope }, now()),
  );
  const scoped = scope ? { scopeKind: scope.kind, scopeValue: scope.value } : {};
  const id = store.budgetName({ projectName: project, period: known, repo, ...scoped });
  return { object: 'budget.deleted', id, deleted: true };
}

/** The schema's test validates the fields. */
export function viewBudget(standing: Standing, now: number): described.BudgetView {
  return budgetResponse(standing, now) as described.BudgetView;
}
