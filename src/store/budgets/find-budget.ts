import { badRequest } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import type { Project } from '../accounts/project.ts';
import type { Db } from '../database/open.ts';
import type { BudgetPeriod, OnLimit, ScopeKind } from '../ledger/terms.ts';

/** What a budget is for, besides a repository. */
export interface Scope {
  kind: Exclude<ScopeKind, 'team'>;
  /** As `scopeValue` of a budget; of a key, its label or id. */
  value: string;
}

/** What identifies a budget within its project. */
export interface BudgetPlace {
  period: BudgetPeriod;
  /** '' or undefined: all of the project's requests. */
  repo?: string | undefined;
  scope?: Scope | undefined;
}

/** A live budget as it is stored. */
export interface StoredBudget {
  id: number;
  cap: NanoUsd;
  version: number;
  alert: number;
  alerts: string;
  windowMs: number | null;
  onLimit: OnLimit;
  parentId: number;
}

/** The columns that a scope is stored in. */
export interface ScopeColumns {
  kind: string;
  value: string;
  keyId: number;
}

const COLUMNS = `id, cap_nano_usd AS cap, cap_version AS version, alert_percent AS alert,
  alert_percents AS alerts, window_ms AS windowMs, on_limit AS onLimit, parent_id AS parentId`;

/** The live budget of a place, or the member of a cap for each that has it; undefined if there is none. */
export function findBudget(
  db: Db,
  project: Project,
  { period, repo = '' }: BudgetPlace,
  { kind, value, keyId }: ScopeColumns,
): StoredBudget | undefined {
  return db
    .prepare<[Record<string, string | number>], StoredBudget>(
      `SELECT ${COLUMNS} FROM budgets WHERE project_id = @projectId AND period = @period AND repo = @repo
       AND scope_kind = @kind AND removed_at IS NULL
       AND (scope_value = @value OR (scope_kind = 'key' AND key_id = @keyId)) ORDER BY parent_id, key_id <> @keyId, id LIMIT 1`,
    )
    .get({ projectId: project.id, period, repo, kind, value, keyId });
}

/** The cap for each of a kind that a budget would be a member of. */
export function findEach(
  db: Db,
  project: Project,
  period: BudgetPeriod,
  kind: string,
): StoredBudget | undefined {
  return findBudget(db, project, { period }, { kind: 'each', value: kind, keyId: 0 });
}

/** The columns of a scope. Throws GwError 400 for a key that the project doesn't have. */
export function scopeColumns(db: Db, project: Project, scope: Scope | undefined): ScopeColumns {
  if (scope === undefined) return { kind: '', value: '', keyId: 0 };
  if (scope.kind !== 'key') return { kind: scope.kind, value: scope.value, keyId: 0 };
  const keys = db
    .prepare<[Record<string, string | number>], { id: number; label: string | null; others: number }>(
      `SELECT id, label, (SELECT count(*) FROM keys o WHERE o.project_id = k.project_id AND o.label = k.label
         AND o.id <> k.id AND o.revoked_at IS NULL) AS others FROM keys k WHERE project_id = @projectId AND (label = @value OR CAST(id AS TEXT) = @value)
       ORDER BY label IS @value, revoked_at IS NULL, id`,
    )
    .all({ projectId: project.id, value: scope.value });
  const key = keys.at(-1);
  if (!key)
    throw badRequest(
      `project ${project.name} has no key "${scope.value}": use its label or id. See: gw keys list -p ${project.name}`,
      'scope',
    );
  // A label that other keys have too, or that reads as an id, names none.
  const isName = key.label !== null && key.others === 0 && !/^\d+$/.test(key.label);
  return { kind: 'key', value: isName ? (key.label ?? '') : String(key.id), keyId: key.id };
}
