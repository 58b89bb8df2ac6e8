import { mustBeOwn, type ProjectAccess } from '../own-project.ts';
import { findProject } from '../store/accounts/projects.ts';
import type { Db } from '../store/database/open.ts';

/** Whose records a reader shows: those of one project, or all. */
export interface Scope extends ProjectAccess {
  projectId: number;
  /** The key that asks, through the HTTP API. */
  keyId?: number;
}

/**
 * The id of the project to read; undefined stands for all. Without a name, that is what the scope covers. Throws GwError
 * 403 for a project outside of the scope, existing or not, and 404 for an unknown one.
 */
export function projectToRead(db: Db, scope: Scope, name: string | undefined): number | undefined {
  if (name === undefined) return scope.admin ? undefined : scope.projectId;
  mustBeOwn(scope, name, 'project_id');
  return findProject(db, name);
}
