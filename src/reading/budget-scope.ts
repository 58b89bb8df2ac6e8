import { badRequest } from '../errors.ts';
import type { Scope } from '../store/budgets/budgets.ts';
import type { BudgetName } from './admin.ts';
import type { BudgetView } from './schemas.ts';

/** A scope in JSON: `value` is null for a cap for each of a kind. */
export interface ScopeJson {
  kind: 'repo' | 'run' | 'key' | 'session' | 'agent';
  value: string | null;
}

/** The scope of a JSON one; undefined for a repository, which has a field of its own. Throws GwError 400. */
export function scopeFromJson({ kind, value }: ScopeJson): Scope | undefined {
  if (value !== null) return kind === 'repo' ? undefined : { kind, value };
  if (kind === 'repo' || kind === 'run')
    throw badRequest(`"scope" is for each ${kind}: there is a cap for each session, agent or key`, 'scope');
  return { kind: 'each', value: kind };
}

export function scopeToJson({ kind, value }: Scope): ScopeJson {
  return kind === 'each' ? { kind: value as ScopeJson['kind'], value: null } : { kind, value };
}

/** A scope as query parameters: `?key=ci`, `?per=session`. */
export type ScopeQuery = Partial<Record<'run' | 'key' | 'session' | 'agent' | 'per', string | undefined>>;

/** Throws GwError 400 for more than one. */
export function scopeFromQuery({ run, key, session, agent, per }: ScopeQuery): Scope | undefined {
  const named = Object.entries({ run, key, session, agent, each: per }).filter(([, value]) => value);
  const [[kind, value] = ['', ''], ...more] = named;
  if (more.length > 0)
    throw badRequest('a budget is for one thing: use one of run, key, session, agent and per');
  // The names are those of the object above.
  return value ? { kind: kind as Scope['kind'], value } : undefined;
}

export function scopeToQuery(scope: Scope | undefined): ScopeQuery {
  if (scope === undefined) return {};
  return { [scope.kind === 'each' ? 'per' : scope.kind]: scope.value };
}

/** What identifies a listed budget. */
export function budgetNameOf({ project_id, period, repo, scope }: BudgetView): BudgetName {
  const of = scope === null ? undefined : scopeFromJson(scope);
  return { project: project_id, period, ...(repo === null ? {} : { repo }), ...(of ? { scope: of } : {}) };
}
