import { budgetForbidden } from './errors.ts';

/** A key's project, as far as access depends on it. */
export interface ProjectAccess {
  /** The project's name. */
  project: string;
  /** May use all projects. */
  admin: boolean;
}

/**
 * Throws GwError 403 for a project, or a budget such as `web/daily`, that the key may not use: the same for those that
 * exist and those that don't, so that a key can't find out which there are.
 */
export function mustBeOwn({ project, admin }: ProjectAccess, name: string | undefined, param: string): void {
  if (admin || name === undefined) return;
  const [named = ''] = name.split('/');
  if (named.toLowerCase() === project) return;
  throw budgetForbidden(
    `this key belongs to project ${project} and may not use "${name}". Use a key of that project, or an admin key`,
    param,
  );
}
