/** The project that a request is counted against. */
export interface ProjectRef {
  id: number;
  name: string;
  paused: boolean;
}

/** Finds live projects by name; the store is behind it. */
export type FindProject = (name: string) => ProjectRef | undefined;

/** Tells whether a project has a budget of a period, that of a repository if one is named; the store is behind it. */
export type HasBudget = (projectId: number, period: string, repo: string) => boolean;

/** What can be named. */
export interface Accounts {
  findProject: FindProject;
  hasBudget: HasBudget;
}
