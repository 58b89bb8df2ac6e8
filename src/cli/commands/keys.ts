import type { AskRemote } from '../../remote/client.ts';
import { createKey, type Key, listKeys, revokeKey } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { findProject } from '../../store/accounts/projects.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { remoteOf } from '../remote/connection.ts';
import { readSettings } from '../settings.ts';
import { optionalProject, withStore } from '../with-store.ts';

interface CreateOptions {
  project: string;
  admin?: boolean;
  label?: string;
  json?: boolean;
}

interface ListOptions {
  project?: string;
  all?: boolean;
  json?: boolean;
}

export const keys: SetUp = (command, context) => {
  command
    .command('create')
    .description('create a key and print it; it is shown only once')
    .option('-p, --project <name>', 'project to charge', DEFAULT_PROJECT)
    .option('--admin', 'allow it to see and manage all projects')
    .option('--label <text>', 'label to tell it from other keys')
    .option('--json', 'print JSON')
    .action((options: CreateOptions) => create(context, options));
  command
    .command('list')
    .description('list keys, without their secrets')
    .option('-p, --project <name>', 'only this project')
    .option('--all', 'include revoked keys')
    .option('--json', 'print JSON')
    .action((options: ListOptions) => list(context, options));
  command
    .command('revoke <id>')
    .description('revoke a key, from the next request')
    .action((id: string) => revoke(context, id));
};

async function create(
  context: Context,
  { project, admin = false, label, json }: CreateOptions,
): Promise<void> {
  const remote = remoteOf(context);
  const { id, key } = remote
    ? await createRemoteKey(remote.ask, { project, admin, label })
    : await withStore(context, (db) =>
        createKey(db, {
          projectId: findProject(db, project),
          admin,
          label: label ?? null,
          now: context.clock.now(),
        }),
      );
  if (json) sayJson(context, { id, key, project_id: project, admin });
  else say(context, key);
  const kind = admin ? 'admin key' : `key of project ${project}`;
  note(context, `This ${kind} is shown only once. To revoke it: gw keys revoke ${id}`);
}

async function createRemoteKey(
  ask: AskRemote,
  { project, admin, label }: { project: string; admin: boolean; label: string | undefined },
): Promise<{ id: number; key: string }> {
  const body = { project_id: project, admin, label };
  return (await ask({ method: 'POST', path: '/v1/gw/keys', body })) as { id: number; key: string };
}

async function list(context: Context, { project, all, json }: ListOptions): Promise<void> {
  const keys = await withStore(context, (db) => listKeys(db, optionalProject(db, project)));
  const rows = keys.filter((key) => all || key.revokedAt === null);
  if (json) {
    sayJson(context, rows.map(keyJson));
    return;
  }
  const times = createTimeFormat(readSettings(context).settings.timezone);
  const lines = table(
    rows,
    [
      { header: 'id', value: ({ id }) => String(id), align: 'right' },
      { header: 'project', value: (key) => key.project, shrinks: true },
      { header: 'key', value: ({ hint }) => `sk-gw-...${hint}` },
      { header: 'kind', value: ({ admin }) => (admin ? 'admin' : 'project') },
      { header: 'label', value: ({ label }) => label ?? '', shrinks: true },
      { header: 'created', value: ({ createdAt }) => times.dateTime(createdAt) },
      { header: '', value: ({ revokedAt }) => (revokedAt === null ? '' : 'revoked') },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
}

function keyJson({ id, project, hint, admin, label, createdAt, revokedAt }: Key): Record<string, unknown> {
  return {
    id,
    project_id: project,
    hint,
    admin,
    label,
    created_at: new Date(createdAt).toISOString(),
    revoked_at: revokedAt === null ? null : new Date(revokedAt).toISOString(),
  };
}

async function revoke(context: Context, text: string): Promise<void> {
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1) {
    throw usageError(`"${text}" is not the id of a key. See: gw keys list`);
  }
  const remote = remoteOf(context);
  if (remote) await remote.ask({ method: 'DELETE', path: `/v1/gw/keys/${id}` });
  else await withStore(context, (db) => revokeKey(db, id, context.clock.now()));
  note(context, `Revoked key ${id}.`);
}
