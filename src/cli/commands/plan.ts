import { Argument } from 'commander';
import { DEFAULT_PROJECT, PLANS, type Plan } from '../../store/accounts/project.ts';
import { unknownProject } from '../../store/accounts/projects.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { withAdmin, withReader } from '../with-gateway.ts';

interface Options {
  project: string;
  json?: boolean;
}

export const plan: SetUp = (command, context) => {
  command
    .command('show')
    .description('print the plan of a project')
    .option('-p, --project <name>', 'project', DEFAULT_PROJECT)
    .option('--json', 'print JSON')
    .action((options: Options) => show(context, options));
  command
    .command('set')
    .addArgument(new Argument('<plan>').choices(PLANS))
    .description('change the plan of a project; webhooks need pro or team')
    .option('-p, --project <name>', 'project', DEFAULT_PROJECT)
    .action((name: Plan, options: Options) => set(context, name, options));
};

async function show(context: Context, { project, json }: Options): Promise<void> {
  const projects = await withReader(context, (reader) => reader.projects());
  const found = projects.find(({ project_id }) => project_id === project);
  if (!found) throw unknownProject(project);
  const { project_id, plan } = found;
  if (json) sayJson(context, { project_id, plan });
  else say(context, plan);
}

async function set(context: Context, name: Plan, { project }: Options): Promise<void> {
  await withAdmin(context, ({ changeProject }) => changeProject(project, { plan: name }));
  note(context, `Project ${project} is now on the ${name} plan.`);
}
