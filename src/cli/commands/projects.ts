import { Argument, Option } from 'commander';
import { PLANS, unknownProject } from '../../store/accounts/projects.ts';
import { plural } from '../../terminal/numbers.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { AS_JSON, IN_PROJECT, type SetUp, UNASKED } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { printList } from '../print-list.ts';
import { remoteOf } from '../remote/connection.ts';
import { withGateway } from '../with-gateway.ts';

export const projects: SetUp = (command, context) => {
  list(command, context);
  command
    .command('add <name>')
    .description('create a project')
    .addOption(new Option('--plan <plan>', 'plan of the project').choices(PLANS).default('pro'))
    .action(async (name, { plan }) => {
      await withGateway(context, ({ addProject }) => addProject({ project_id: name, plan }));
      note(
        context,
        `Created project ${name}. Next: eval "$(gw env -p ${name})"   gw budget set 5 -p ${name}`,
      );
    });
  command
    .command('pause [project]')
    .description('refuse the requests of a project until it is resumed')
    .option('--all', 'all projects')
    .option('--cut', 'end running requests too; what they have cost is booked')
    .action((name, options) => setPaused(context, name, { ...options, paused: true }));
  command
    .command('resume [project]')
    .description('accept the requests of a paused project again')
    .option('--all', 'all projects')
    .action((name, options) => setPaused(context, name, { ...options, paused: false }));
  command
    .command('remove <name>')
    .description('remove a project: its keys stop working, its history stays')
    .option(...UNASKED)
    .action(async (name, { yes }) => {
      const loss = `This revokes all keys of project ${name} and removes its budgets; they don't come back with it.`;
      await confirmLoss(context, loss, { yes, scripted: true });
      await withGateway(context, ({ removeProject }) => removeProject({ project: name }));
      note(
        context,
        `Removed project ${name}: its keys no longer work, its history stays. To bring it back: gw projects add ${name}`,
      );
    });
  command
    .command('delete-data <name>')
    .description('delete the records of its requests; reports keep their figures')
    .option('--session <id>', 'only those of one session of an agent')
    .option('--yes', 'do not ask')
    .action(async (name, { session, yes }) => {
      const whose = session === undefined ? `project ${name}` : `session ${session} of project ${name}`;
      const loss = `This deletes the record of every request of ${whose} for good; only their figures stay in reports.`;
      await confirmLoss(context, loss, { yes });
      const { deleted } = await withGateway(context, (gateway) =>
        gateway.deleteRecords({ project_id: name, session_id: session }),
      );
      note(
        context,
        `Deleted ${plural(deleted, 'record')} of ${whose}. Reports and budgets keep their figures.`,
      );
    });
};

const list: SetUp = (command, context) =>
  command
    .command('list')
    .description('list the projects')
    .option(...AS_JSON)
    .action(async ({ json }) => {
      const { rows, timezone } = await withGateway(context, async (reader) => ({
        rows: await reader.projects(),
        timezone: (await reader.calendar()).timezone,
      }));
      const times = createTimeFormat(timezone);
      printList(
        context,
        rows,
        [
          { header: 'project', value: ({ project_id }) => project_id, shrinks: true },
          { header: 'plan', value: ({ plan }) => plan },
          { header: 'created', value: ({ created_at }) => times.dateTime(Date.parse(created_at)) },
          { header: '', value: ({ paused_at }) => (paused_at === null ? '' : 'paused') },
        ],
        { json },
      );
    });

async function setPaused(
  context: Context,
  name: string | undefined,
  { paused, all = false, cut = false }: { all?: boolean; cut?: boolean; paused: boolean },
): Promise<void> {
  if (all === (name !== undefined)) {
    const command = `gw projects ${paused ? 'pause' : 'resume'}`;
    throw new CliError(`name a project, or use --all: ${command} PROJECT, or ${command} --all`, EXIT.usage);
  }
  const projects = await withGateway(context, async ({ changeProject, pauseAll }) => {
    if (name === undefined) return (await pauseAll({ paused, cut })).projects;
    await changeProject({ project: name, paused, cut });
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

export const plan: SetUp = (command, context) => {
  command
    .command('show')
    .description('print the plan of a project')
    .option(...IN_PROJECT)
    .option(...AS_JSON)
    .action(async ({ project, json }) => {
      const projects = await withGateway(context, (reader) => reader.projects());
      const found = projects.find(({ project_id }) => project_id === project);
      if (!found) throw unknownProject(project);
      const { project_id, plan } = found;
      if (json) sayJson(context, { project_id, plan });
      else say(context, plan);
    });
  command
    .command('set')
    .addArgument(new Argument('<plan>').choices(PLANS))
    .description('change the plan of a project; webhooks need pro or team')
    .option(...IN_PROJECT)
    .action(async (name, { project }) => {
      await withGateway(context, ({ changeProject }) => changeProject({ project, plan: name }));
      note(context, `Project ${project} is now on the ${name} plan.`);
    });
};
