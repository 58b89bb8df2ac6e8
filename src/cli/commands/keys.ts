import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { withAdmin, withReader } from '../with-gateway.ts';

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
  const created = await withAdmin(context, ({ createKey }) =>
    createKey({ project, admin, label: label ?? null }),
  );
  if (json) sayJson(context, created);
  else say(context, created.key);
  const kind = admin ? 'admin key' : `key of project ${project}`;
  note(context, `This ${kind} is shown only once. To revoke it: gw keys revoke ${created.id}`);
}

async function list(context: Context, { project, all, json }: ListOptions): Promise<void> {
  const { rows, timezone } = await withReader(context, async (reader) => ({
    rows: await reader.keys({ project, revoked: all }),
    timezone: (await reader.calendar()).timezone,
  }));
  if (json) {
    sayJson(context, rows);
    return;
  }
  const times = createTimeFormat(timezone);
  const lines = table(
    rows,
    [
      { header: 'id', value: ({ id }) => String(id), align: 'right' },
      { header: 'project', value: (key) => key.project_id, shrinks: true },
      { header: 'key', value: ({ hint }) => `sk-gw-...${hint}` },
      { header: 'kind', value: ({ admin }) => (admin ? 'admin' : 'project') },
      { header: 'label', value: ({ label }) => label ?? '', shrinks: true },
      { header: 'created', value: ({ created_at }) => times.dateTime(Date.parse(created_at)) },
      { header: '', value: ({ revoked_at }) => (revoked_at === null ? '' : 'revoked') },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
}

async function revoke(context: Context, text: string): Promise<void> {
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1) {
    throw usageError(`"${text}" is not the id of a key. See: gw keys list`);
  }
  await withAdmin(context, ({ revokeKey }) => revokeKey(id));
  note(context, `Revoked key ${id}.`);
}
