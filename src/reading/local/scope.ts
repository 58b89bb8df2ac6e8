import { budgetForbidden } from '../../errors.ts';
import { findProject } from '../../store/accounts/projects.ts';
import type { Db } from '../../store/database/open.ts';

/** Whose records a reader shows: those of one project, or all. */
export interface Scope {
  project: string;
  projectId: number;
  /** Sees all projects. */
  admin: boolean;
}

/**
 * The id of the project to read; undefined stands for all. Without a name, that is what the scope covers. Throws GwError
 * 403 for a project outside of the scope, existing or not, and 404 for an unknown one.
 */
export function projectToRead(db: Db, scope: Scope, name: string | undefined): number | undefined {
  if (name === undefined) return scope.admin ? undefined : scope.projectId;
  if (!scope.admin && name !== scope.project) {
    throw budgetForbidden(
      `this key belongs to project ${scope.project} and does not see "${name}". Use a key of that project, or an admin key`,
      'project_id',
    );
  }
  return findProject(db, name);
}
