/** The project that a request is counted against. */
export interface ProjectRef {
  id: number;
  name: string;
  paused: boolean;
}

export const PROJECT_PAUSED = { status: 403, type: 'permission_error', code: 'project_paused' } as const;

export function pausedMessage({ name }: Pick<ProjectRef, 'name'>): string {
  return `project ${name} is paused. To resume it: gw projects resume ${name}`;
}

/** Finds an existing project by name. */
export type FindProject = (name: string) => ProjectRef | undefined;

/** Whether a project has a budget of a period; `repo` is empty for the project's own budgets. */
export type HasBudget = (projectId: number, period: string, repo: string) => boolean;

/** The projects with budgets of repositories, and with budgets of sessions or agents. */
export interface BudgetScopes {
  repos: ReadonlySet<number>;
  clients: ReadonlySet<number>;
}

/** Lookups for the projects and budgets that a request names. */
export interface Accounts {
  findProject: FindProject;
  hasBudget: HasBudget;
}
