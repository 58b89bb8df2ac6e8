import { openSettingsFile } from '../../config/save.ts';
import { readSecrets } from '../../config/secrets.ts';
import { createCallerLookup, hashKey } from '../../store/accounts/callers.ts';
import { createKey } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT, findProject } from '../../store/accounts/projects.ts';
import type { Db } from '../../store/database/open.ts';
import type { Context } from '../context.ts';

/** Label of the keys that the command line creates for its own use. */
export const CLI_KEY_LABEL = 'gw cli';

/** Name of the command line's admin key in its file. No project can have it. */
const ADMIN = '*';

/**
 * The command line's own key of a project, kept in a 0600 file. Created on first use, and again when the stored one
 * has been revoked or replaced. Throws a 404 for an unknown project.
 */
export async function cliKeyOf(context: Context, db: Db, project: string): Promise<string> {
  return storedKeyOf(context, db, { name: project, project });
}

/** The command line's own admin key, kept alike: who can read the file can read the database. */
export async function cliAdminKey(context: Context, db: Db): Promise<string> {
  return storedKeyOf(context, db, { name: ADMIN, project: DEFAULT_PROJECT, admin: true });
}

async function storedKeyOf(
  context: Context,
  db: Db,
  { name, project, admin = false }: { name: string; project: string; admin?: boolean },
): Promise<string> {
  const projectId = findProject(db, project);
  const storedKey = readSecrets(context.paths.cliKeys)[name];
  const now = context.clock.now();
  const caller = storedKey === undefined ? undefined : createCallerLookup(db)(hashKey(storedKey));
  const isOwn = caller?.projectId === projectId && caller.admin === admin;
  const isLive = isOwn && now < (caller.expiresAt ?? Number.POSITIVE_INFINITY);
  if (storedKey !== undefined && isLive) return storedKey;
  const { key } = await createKey(db, { projectId, label: CLI_KEY_LABEL, admin, now });
  (await openSettingsFile(context.paths.cliKeys)).set([name], key);
  return key;
}
