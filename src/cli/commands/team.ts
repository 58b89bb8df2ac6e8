import type { SetUp } from '../command.ts';
import { addTeamAdminCommands } from '../team/admin-commands.ts';
import { type JoinOptions, join } from '../team/join.ts';
import { leave } from '../team/leave.ts';
import { teamStatus } from '../team/status.ts';

export const team: SetUp = (command, context) => {
  command
    .command('join [url]')
    .description("make this gateway a member: its share of the team's budgets comes from there")
    .option('--stdin', 'read the URL from stdin: it may hold a password')
    .option('--name <name>', "this gateway's name in the team (default: the host's)")
    .option('--courier', "deliver the team's events too; without a URL, for a gateway that is a member")
    .option('--json', 'print JSON')
    .action((url: string | undefined, options: JoinOptions) => join(context, url, options));
  command
    .command('leave')
    .description("return all of the team's money, once running requests have ended, and leave")
    .action(() => leave(context));
  command
    .command('status')
    .description('show whether the team can be reached, and what is granted here')
    .option('--json', 'print JSON')
    .addHelpText('after', "\nExits with code 3 if the team's database can't be reached.")
    .action((options: { json?: boolean }) => teamStatus(context, options));
  addTeamAdminCommands(command, context);
};
