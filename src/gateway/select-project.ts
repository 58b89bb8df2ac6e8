import { GwError, notFound } from '../errors.ts';
import type { Caller } from '../store/callers.ts';

/** The project that a request is counted against. */
export interface ProjectRef {
  id: number;
  name: string;
  paused: boolean;
}

/** Finds live projects by name; the store is behind it. */
export type FindProject = (name: string) => ProjectRef | undefined;

/**
 * The project that pays: the key's own, or the one that `service.budget_id` names (by its own name, or by that of
 * one of its budgets, `project/period`). 403 for a project that the key may not use, 404 for one that there isn't.
 */
export function selectProject(caller: Caller, budgetId: string | undefined, find: FindProject): ProjectRef {
  const own = { id: caller.projectId, name: caller.project, paused: caller.paused };
  const project = budgetId === undefined ? own : named(caller, budgetId, find);
  if (project.paused) {
    throw new GwError(`project ${project.name} is paused. To resume it: gw projects resume ${project.name}`, {
      status: 403,
      type: 'permission_error',
      code: 'project_paused',
    });
  }
  return project;
}

function named(caller: Caller, budgetId: string, find: FindProject): ProjectRef {
  const project = find(budgetId) ?? find(budgetId.replace(/\/(daily|monthly|rolling)$/, ''));
  if (!project) {
    throw notFound(
      `no budget or project "${budgetId}". See: gw budget list, gw projects list`,
      'budget_not_found',
      'service.budget_id',
    );
  }
  if (project.id !== caller.projectId && !caller.admin) {
    throw new GwError(
      `this key belongs to project ${caller.project} and may not spend from "${budgetId}". Use a key of that project (gw keys create -p ${project.name}), or an admin key`,
      { status: 403, type: 'permission_error', code: 'budget_forbidden', param: 'service.budget_id' },
    );
  }
  return project;
}
