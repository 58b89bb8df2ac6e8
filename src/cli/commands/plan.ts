import { Argument } from 'commander';
import { DEFAULT_PROJECT, PLANS, type Plan } from '../../store/accounts/project.ts';
import { getProject, setPlan } from '../../store/accounts/projects.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { withStore } from '../with-store.ts';

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
  const { name, plan } = await withStore(context, (db) => getProject(db, project));
  if (json) sayJson(context, { project_id: name, plan });
  else say(context, plan);
}

async function set(context: Context, name: Plan, { project }: Options): Promise<void> {
  await withStore(context, (db) => setPlan(db, project, name));
  note(context, `Project ${project} is now on the ${name} plan.`);
}
