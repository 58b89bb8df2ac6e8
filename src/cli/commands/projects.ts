import { Option } from 'commander';
import { PLANS, type Plan } from '../../store/accounts/project.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { withAdmin, withReader } from '../with-gateway.ts';

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
    .command('pause <name>')
    .description('refuse the requests of a project until it is resumed')
    .action((name: string) => pause(context, name));
  command
    .command('resume <name>')
    .description('accept the requests of a paused project again')
    .action((name: string) => resume(context, name));
  command
    .command('remove <name>')
    .description('remove a project: its keys stop working, its history stays')
    .action((name: string) => remove(context, name));
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

async function pause(context: Context, name: string): Promise<void> {
  await withAdmin(context, ({ changeProject }) => changeProject(name, { paused: true }));
  note(context, `Paused project ${name}: its requests are refused. To resume it: gw projects resume ${name}`);
}

async function resume(context: Context, name: string): Promise<void> {
  await withAdmin(context, ({ changeProject }) => changeProject(name, { paused: false }));
  note(context, `Resumed project ${name}.`);
}

async function remove(context: Context, name: string): Promise<void> {
  await withAdmin(context, ({ removeProject }) => removeProject(name));
  note(
    context,
    `Removed project ${name}: its keys no longer work, its history stays. To bring it back: gw projects add ${name}`,
  );
}
