import { budgetForbidden } from './errors.ts';

/** The access rights of a key. */
export interface ProjectAccess {
  project: string;
  /** May use all projects. */
  admin: boolean;
}

/**
 * Throws GwError 403 for a project, or a budget such as `web/daily`, that the key may not use. Existing and unknown
 * names get the same error, so that a key can't probe for names.
 */
export function mustBeOwn({ project, admin }: ProjectAccess, name: string | undefined, param: string): void {
  if (admin || name === undefined) return;
  const [projectName = ''] = name.split('/');
  if (projectName.toLowerCase() === project) return;
  throw budgetForbidden(
    `this key belongs to project ${project} and may not use "${name}". Use a key of that project, or an admin key`,
    param,
  );
}
