import { Argument } from 'commander';
import { PLANS } from '../../store/accounts/project.ts';
import { unknownProject } from '../../store/accounts/projects.ts';
import { AS_JSON, IN_PROJECT, type SetUp } from '../command.ts';
import { note, say, sayJson } from '../context.ts';
import { withAdmin, withReader } from '../with-gateway.ts';

export const plan: SetUp = (command, context) => {
  command
    .command('show')
    .description('print the plan of a project')
    .option(...IN_PROJECT)
    .option(...AS_JSON)
    .action(async ({ project, json }) => {
      const projects = await withReader(context, (reader) => reader.projects());
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
      await withAdmin(context, ({ changeProject }) => changeProject(project, { plan: name }));
      note(context, `Project ${project} is now on the ${name} plan.`);
    });
};
