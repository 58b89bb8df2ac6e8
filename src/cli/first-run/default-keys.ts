import { createKey, listKeys } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT, ensureDefaultProject, findProject } from '../../store/accounts/projects.ts';
import type { Db } from '../../store/database/open.ts';
import type { Palette } from '../../terminal/palette.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { CLI_KEY_LABEL } from '../client/cli-keys.ts';
import type { Daemon } from '../daemon/find.ts';

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
  if (!keys.some(({ admin }) => !admin))
    newKeys.project = (await createKey(db, { projectId, label: 'first key', now })).key;
  if (!keys.some(({ admin }) => admin))
    newKeys.admin = (await createKey(db, { projectId, admin: true, label: 'first admin key', now })).key;
  return newKeys;
}

/** Next steps once gw runs: the line to paste, and a request that needs no provider. */
export function firstSteps({ origin }: Daemon, keys: FirstKeys, { palette }: Terminal): string {
  const key = keys.project ?? '$OPENAI_API_KEY';
  const lines = [
    `${palette.bold('Base URL')}     ${origin}/v1`,
    ...keyLines(keys, palette),
    '',
    'Point this shell, and every OpenAI client started from it, at gw:',
    `  ${palette.accent('eval "$(gw env)"')}`,
    '',
    'Try it with the built-in model, which needs no provider:',
    `  curl ${origin}/v1/chat/completions -H "Authorization: Bearer ${key}" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
    'Then: gw usage',
  ];
  return lines.join('\n');
}

/** New keys, to be copied now: they cannot be shown again. */
export function keyLines({ project, admin }: FirstKeys, { bold, dim }: Palette): string[] {
  return [
    ...(project ? [`${bold('Project key')}  ${project}`] : []),
    ...(admin ? [`${bold('Admin key')}    ${admin}`] : []),
    ...(project || admin ? [dim('Keys are shown only once. To create another: gw keys create')] : []),
  ];
}
