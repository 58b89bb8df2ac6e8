import { openSettingsFile } from '../../config/save.ts';
import { readSecrets } from '../../config/secrets.ts';
import { createCallerLookup, hashKey } from '../../store/accounts/callers.ts';
import { createKey } from '../../store/accounts/keys.ts';
import { findProject } from '../../store/accounts/projects.ts';
import type { Db } from '../../store/database/open.ts';
import type { Context } from '../context.ts';

/** Label of the keys that the command line creates for its own use. */
export const CLI_KEY_LABEL = 'gw cli';

/**
 * The command line's own key of a project, kept in a 0600 file. Created on first use, and again when the stored one
 * has been revoked or replaced. Throws a 404 for an unknown project.
 */
export async function cliKeyOf(context: Context, db: Db, project: string): Promise<string> {
  const projectId = findProject(db, project);
  const storedKey = readSecrets(context.paths.cliKeys)[project];
  const now = context.clock.now();
  const caller = storedKey === undefined ? undefined : createCallerLookup(db)(hashKey(storedKey));
  const isLive = caller?.projectId === projectId && now < (caller.expiresAt ?? Number.POSITIVE_INFINITY);
  if (storedKey !== undefined && isLive) return storedKey;
  const { key } = await createKey(db, { projectId, label: CLI_KEY_LABEL, now });
  (await openSettingsFile(context.paths.cliKeys)).set([project], key);
  return key;
}
