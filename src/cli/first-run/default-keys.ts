import { ensureDefaultProject, findProject } from '../../store/accounts/find-project.ts';
import { createKey, listKeys } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import type { Db } from '../../store/database/open.ts';
import { CLI_KEY_LABEL } from '../client/cli-keys.ts';

/** Keys that were just made: this is the one time that they can be shown. */
export interface FirstKeys {
  project?: string;
  admin?: string;
}

/**
 * Makes the default project, and its first key and the first admin key where there never was one.
 * Keys that were all revoked stay so.
 */
export async function ensureDefaults(db: Db, now: number): Promise<FirstKeys> {
  ensureDefaultProject(db, now);
  const projectId = findProject(db, DEFAULT_PROJECT);
  const known = (await listKeys(db)).filter(({ label }) => label !== CLI_KEY_LABEL);
  const made: FirstKeys = {};
  if (!known.some(({ admin }) => !admin)) {
    made.project = (await createKey(db, { projectId, label: 'first key', now })).key;
  }
  if (!known.some(({ admin }) => admin)) {
    made.admin = (await createKey(db, { projectId, admin: true, label: 'first admin key', now })).key;
  }
  return made;
}
