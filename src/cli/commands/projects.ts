import { Option } from 'commander';
import { PLANS, type Plan } from '../../store/accounts/project.ts';
import { plural } from '../../terminal/numbers.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirmLoss, type Unasked } from '../input/confirm.ts';
import { remoteOf } from '../remote/connection.ts';
import { withAdmin, withReader } from '../with-gateway.ts';

interface DeleteOptions extends Unasked {
  session?: string;
}

interface PauseOptions {
  all?: boolean;
  cut?: boolean;
}

export const projects: SetUp = (command, context) => {
  command
    .command('list')
    .description('list the projects')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => list(context, json));
  command
    .command('add <name>')
    .description('create a project')
    .addOption(new Option('--plan <plan>', 'plan of the project').choices(PLANS).default('pro'))
    .action((name: string, { plan }: { plan: Plan }) => add(context, name, plan));
  command
    .command('pause [project]')
    .description('refuse the requests of a project until it is resumed')
    .option('--all', 'all projects')
    .option('--cut', 'end running requests too; what they have cost is booked')
    .action((name: string | undefined, options: PauseOptions) =>
      setPaused(context, name, { ...options, paused: true }),
    );
  command
    .command('resume [project]')
    .description('accept the requests of a paused project again')
    .option('--all', 'all projects')
    .action((name: string | undefined, options: PauseOptions) =>
      setPaused(context, name, { ...options, paused: false }),
    );
  command
    .command('remove <name>')
    .description('remove a project: its keys stop working, its history stays')
    .option('--yes', 'do not ask on a terminal')
    .action((name: string, options: Unasked) => remove(context, name, options));
  command
    .command('delete-data <name>')
    .description('delete the records of its requests; reports keep their figures')
    .option('--session <id>', 'only those of one session of an agent')
    .option('--yes', 'do not ask')
    .action((name: string, options: DeleteOptions) => deleteData(context, name, options));
};

async function list(context: Context, json = false): Promise<void> {
  const { rows, timezone } = await withReader(context, async (reader) => ({
    rows: await reader.projects(),
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
      { header: 'project', value: ({ project_id }) => project_id, shrinks: true },
      { header: 'plan', value: ({ plan }) => plan },
      { header: 'created', value: ({ created_at }) => times.dateTime(Date.parse(created_at)) },
      { header: '', value: ({ paused_at }) => (paused_at === null ? '' : 'paused') },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
}

async function add(context: Context, name: string, plan: Plan): Promise<void> {
  await withAdmin(context, ({ addProject }) => addProject(name, plan));
  note(context, `Created project ${name}. Next: eval "$(gw env -p ${name})"   gw budget set 5 -p ${name}`);
}

async function setPaused(
  context: Context,
  name: string | undefined,
  { paused, all = false, cut = false }: PauseOptions & { paused: boolean },
): Promise<void> {
  if (all === (name !== undefined)) {
    const command = `gw projects ${paused ? 'pause' : 'resume'}`;
    throw new CliError(`name a project, or use --all: ${command} PROJECT, or ${command} --all`, EXIT.usage);
  }
  const projects = await withAdmin(context, async ({ changeProject, pauseAll }) => {
    if (name === undefined) return pauseAll({ paused, cut });
    await changeProject(name, { paused, cut });
    return [name];
  });
  // A daemon that is asked anything notices the change at once.
  if (cut && !remoteOf(context)) await findDaemon(context);
  const which = all ? `all projects (${projects.join(', ')})` : `project ${name}`;
  const their = all ? 'their' : 'its';
  const running = cut ? ` Running ones are cut, and what they have cost is booked.` : '';
  note(
    context,
    paused
      ? `Paused ${which}: ${their} requests are refused.${running} To resume: gw projects resume ${name ?? '--all'}`
      : `Resumed ${which}.`,
  );
}

async function remove(context: Context, name: string, { yes }: Unasked): Promise<void> {
  const loss = `This revokes all keys of project ${name} and removes its budgets; they don't come back with it.`;
  await confirmLoss(context, loss, { yes, scripted: true });
  await withAdmin(context, ({ removeProject }) => removeProject(name));
  note(
    context,
    `Removed project ${name}: its keys no longer work, its history stays. To bring it back: gw projects add ${name}`,
  );
}

async function deleteData(context: Context, name: string, { session, yes }: DeleteOptions): Promise<void> {
  const whose = session === undefined ? `project ${name}` : `session ${session} of project ${name}`;
  const loss = `This deletes the record of every request of ${whose} for good; only their figures stay in reports.`;
  await confirmLoss(context, loss, { yes });
  const deleted = await withAdmin(context, (admin) => admin.deleteRecords({ project: name, session }));
  note(context, `Deleted ${plural(deleted, 'record')} of ${whose}. Reports and budgets keep their figures.`);
}
