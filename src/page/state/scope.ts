import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { InputOf } from './ask.ts';

type ScopeQuery = Omit<InputOf<'DELETE /v1/gw/budgets/{project}/{period}'>, 'project' | 'period'>;
type UsageQuery = InputOf<'GET /v1/gw/usage'>;

/** What a budget counts, as the parameters of its removal. */
export function scopeToQuery({ repo, scope }: BudgetView): ScopeQuery {
  if (repo !== null) return { repo };
  if (scope === null) return {};
  return scope.value === null
    ? { per: scope.kind as NonNullable<ScopeQuery['per']> }
    : { [scope.kind]: scope.value };
}

/** What a budget counts, as conditions of a report; undefined if no report can be of it. */
export function usageOfScope({ project_id, repo, scope }: BudgetView): UsageQuery | undefined {
  if (repo !== null) return { project_id, repo };
  if (scope === null) return { project_id };
  const { kind, value } = scope;
  if (value === null || kind === 'run' || kind === 'repo') return undefined;
  return { project_id, [kind]: value };
}
