import { readSecrets } from '../../config/secrets.ts';
import { createCallerLookup, hashKey } from '../../store/accounts/callers.ts';
import { findProject } from '../../store/accounts/find-project.ts';
import type { Db } from '../../store/database/open.ts';
import type { Context } from '../context.ts';

/** The label of the keys that the command line keeps for itself. */
export const CLI_KEY_LABEL = 'gw cli';

/**
 * The command line's own key of a project: kept in a 0600 file, made when it is first needed, and again
 * when the one in the file no longer works. 404 for an unknown project.
 */
export async function cliKeyOf(context: Context, db: Db, project: string): Promise<string> {
  const projectId = findProject(db, project);
  const kept = readSecrets(context.paths.cliKeys)[project];
  if (kept !== undefined && createCallerLookup(db)(hashKey(kept))?.projectId === projectId) return kept;
  const [{ createKey }, { openSettingsFile }] = await Promise.all([
    import('../../store/accounts/keys.ts'),
    import('../../config/save.ts'),
  ]);
  const { key } = await createKey(db, { projectId, label: CLI_KEY_LABEL, now: context.clock.now() });
  (await openSettingsFile(context.paths.cliKeys)).set([project], key);
  return key;
}
