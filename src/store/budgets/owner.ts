import { badRequest } from '../../errors.ts';
import { getProject, listProjects, type Project } from '../accounts/projects.ts';
import type { Db } from '../database/open.ts';
import { ALL_PROJECTS } from '../ledger/terms.ts';

/** The project of a budget, or several that share it: `id` is one of them. */
export interface BudgetOwner extends Pick<Project, 'id' | 'createdAt'> {
  /** As in the budget's name. */
  name: string;
  /** As the column; default: ''. */
  projects?: string;
}

/** Whether a text names several projects. */
export const isSeveral = (text: string): boolean => text === ALL_PROJECTS || text.includes(',');

/** The projects of `web`, `web,api` or `@all`. Throws GwError 404 for an unknown one. */
export async function getOwner(db: Db, text: string): Promise<BudgetOwner> {
  if (!isSeveral(text)) return getProject(db, text);
  const names = new Set(text.split(',').map((name) => name.trim()));
  if (names.has(''))
    throw badRequest(`"${text}" has an empty name: use projects such as web,api`, 'project_id');
  const members =
    text === ALL_PROJECTS
      ? await listProjects(db)
      : await Promise.all([...names].map((name) => getProject(db, name)));
  return ownerOf(members, text === ALL_PROJECTS);
}

function ownerOf(projects: readonly Project[], isAll: boolean): BudgetOwner {
  const distinct = [...new Map(projects.map((each) => [each.id, each])).values()];
  const [first] = distinct.toSorted((a, b) => a.id - b.id);
  if (!first) throw new Error('there is no project');
  if (!isAll && distinct.length === 1) return first;
  const ids = distinct.map(({ id }) => id).sort((a, b) => a - b);
  const createdAt = Math.min(...distinct.map((each) => each.createdAt));
  const names = distinct.map(({ name }) => name).sort();
  return isAll
    ? { id: first.id, createdAt, name: ALL_PROJECTS, projects: '*' }
    : { id: first.id, createdAt, name: names.join(','), projects: JSON.stringify(ids) };
}

/** The ids of the projects whose requests it counts; undefined: all. */
export function countedProjects({ id, projects = '' }: BudgetOwner): readonly number[] | undefined {
  if (projects === '') return [id];
  return projects === '*' ? undefined : (JSON.parse(projects) as number[]);
}
