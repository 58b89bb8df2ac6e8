import type { Db } from '../database/open.ts';
import { SHARES } from '../database/sql-parts.ts';

export const projectsWithRepoBudgets = (db: Db): ReadonlySet<number> => projectsWith(db, "b.repo <> ''");

/** The projects with caps for single sessions, agents, labels, models or providers, or for each of them. */
export function projectsWithClientBudgets(db: Db): ReadonlySet<number> {
  return projectsWith(
    db,
    `b.scope_kind IN ('session', 'agent', 'model', 'provider') OR b.scope_kind LIKE 'label:%'
    OR (b.scope_kind = 'each' AND b.scope_value <> 'key')`,
  );
}

/** The projects with budgets that name cheaper models. */
export function projectsWithFallbacks(db: Db): ReadonlySet<number> {
  return projectsWith(db, "b.on_limit = 'fallback'");
}

/** The projects with budgets `b` of a condition, also such as they share. */
function projectsWith(db: Db, condition: string): ReadonlySet<number> {
  const select = `SELECT DISTINCT p.id FROM budgets b JOIN projects p ON iif(b.projects = '', p.id = b.project_id, ${SHARES})
    WHERE b.removed_at IS NULL AND b.parent_id = 0 AND (${condition})`;
  return new Set(db.prepare<[], number>(select).pluck().all());
}
