import { createKey, listKeys } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { ensureDefaultProject, findProject } from '../../store/accounts/projects.ts';
import type { Db } from '../../store/database/open.ts';
import { CLI_KEY_LABEL } from '../client/cli-keys.ts';

/** New keys. They can be shown only now. */
export interface FirstKeys {
  project?: string;
  admin?: string;
}

/** Creates the default project, and a project key and an admin key if there never was one. Revoked keys count. */
export async function ensureDefaults(db: Db, now: number): Promise<FirstKeys> {
  ensureDefaultProject(db, now);
  const projectId = findProject(db, DEFAULT_PROJECT);
  const keys = (await listKeys(db)).filter(({ label }) => label !== CLI_KEY_LABEL);
  const newKeys: FirstKeys = {};
  if (!keys.some(({ admin }) => !admin)) {
    newKeys.project = (await createKey(db, { projectId, label: 'first key', now })).key;
  }
  if (!keys.some(({ admin }) => admin)) {
    newKeys.admin = (await createKey(db, { projectId, admin: true, label: 'first admin key', now })).key;
  }
  return newKeys;
}
