import { type Command, Option } from 'commander';
import { WEBHOOK_FORMATS } from '../../store/webhooks/endpoints.ts';
import type { Context } from '../context.ts';
import { type BudgetOptions, listBudgets, removeBudget, setBudget } from './budgets.ts';
import type { AdminOptions } from './connection.ts';
import { type CreateOptions, createTeam } from './create.ts';
import { type ForgetOptions, forgetGateway } from './forget.ts';
import {
  type CreateKeyOptions,
  createKey,
  type ListKeysOptions,
  listKeys,
  type RevokeKeyOptions,
  revokeKey,
} from './keys.ts';
import { listMembers } from './members.ts';
import { type RecoverOptions, recoverTeam } from './recover.ts';
import { type AddWebhookOptions, addWebhook, listWebhooks, removeWebhook } from './webhooks.ts';

const PERIODS = ['daily', 'monthly'];

/** What an admin of a team does. These commands talk to the team's PostgreSQL only. */
export function addTeamAdminCommands(command: Command, context: Context): void {
  command
    .command('create [url]')
    .description("make a team in a PostgreSQL, or upgrade one to this gw's version")
    .option('--stdin', 'read the URL from stdin: it may hold a password')
    .option('--name <name>', "the team's name", 'team')
    .option('--timezone <zone>', "the zone of the team's days and months (default: this gw's)")
    .option('--json', 'print JSON')
    .addHelpText('after', '\nWhere the role may not create roles, prints the SQL for somebody who may.')
    .action((url: string | undefined, options: CreateOptions) => createTeam(context, url, options));
  admin(command.command('members').description('list the gateways, and what they hold')).action(
    (options: AdminOptions) => listMembers(context, options),
  );
  admin(command.command('forget <gateway>').description('count what a lost gateway held as spent'))
    .option('--release', 'grant it to others instead: if the gateway lives on, the cap can be passed')
    .option('--amount <dollars>', 'with --release: the amount at risk, as a confirmation')
    .action((gateway: string, options: ForgetOptions) => forgetGateway(context, gateway, options));
  admin(command.command('recover').description('grant money again after a failover'))
    .option('--freeze', 'stop granting until all gateways have reported')
    .option('--yes', 'do not ask, although gateways have not reported')
    .action((options: RecoverOptions) => recoverTeam(context, options));
  addBudgetCommands(command.command('budgets').description("show and set the team's budgets"), context);
  addWebhookCommands(command.command('webhooks').description("where the team's events go"), context);
  addKeyCommands(command.command('keys').description('keys that every gateway of the team accepts'), context);
}

function addBudgetCommands(command: Command, context: Context): void {
  const period = () =>
    new Option('--period <period>', 'when spending starts again from zero (default: daily)').choices(PERIODS);
  admin(
    command.command('list', { isDefault: true }).description('show what is spent, granted and left'),
  ).action((options: AdminOptions) => listBudgets(context, options));
  admin(
    command
      .command('set <amount> [budget]')
      .description('cap what the team, or one project of it, may spend'),
  )
    .option('-p, --project <name>', 'only requests of this project (default: all of the team)')
    .addOption(period())
    .option('--alert <percents>', 'percentages of the cap that send alerts, such as 50,80,95')
    .option('--offline <refuse|spend:AMOUNT>', "what each gateway may spend while it can't reach the team")
    .action((amount: string, name: string | undefined, options: BudgetOptions) =>
      setBudget(context, amount, name, options),
    );
  admin(command.command('remove [budget]').description('remove a budget'))
    .option('-p, --project <name>', 'the budget of this project')
    .addOption(period())
    .action((name: string | undefined, options: BudgetOptions) => removeBudget(context, name, options));
}

function addWebhookCommands(command: Command, context: Context): void {
  admin(command.command('list', { isDefault: true }).description('list the webhooks')).action(
    (options: AdminOptions) => listWebhooks(context, options),
  );
  admin(command.command('add <to>').description('send the events to a URL; its secret is shown only once'))
    .option('--events <list>', 'comma-separated events (default: all of budgets)')
    .addOption(new Option('--format <format>', 'payload format').choices(WEBHOOK_FORMATS))
    .action((url: string, options: AddWebhookOptions) => addWebhook(context, url, options));
  admin(command.command('remove <id>').description('remove a webhook')).action(
    (id: string, options: AdminOptions) => removeWebhook(context, id, options),
  );
}

function addKeyCommands(command: Command, context: Context): void {
  admin(command.command('list', { isDefault: true }).description('list the keys, without their secrets'))
    .option('--all', 'include revoked keys')
    .action((options: ListKeysOptions) => listKeys(context, options));
  admin(command.command('create').description('create a key and print it; it is shown only once'))
    .option('-p, --project <name>', 'project to charge (default: default)')
    .option('--label <text>', 'label to tell it from other keys')
    .option('--expires <time>', 'how long it works, such as 30d')
    .option('--models <names>', 'the only models that it may use: gpt-4.1-mini,claude-*')
    .option('--rpm <count>', 'how many requests it may make in a minute, at each gateway')
    .action((options: CreateKeyOptions) => createKey(context, options));
  admin(command.command('revoke <id>').description('revoke a key: every gateway refuses it within a minute'))
    .option('--yes', 'do not ask on a terminal')
    .action((id: string, options: RevokeKeyOptions) => revokeKey(context, id, options));
}

function admin(command: Command): Command {
  return command
    .option(
      '--url <url>',
      "the team's PostgreSQL, as an admin (default: GW_TEAM_URL, or that of gw team join)",
    )
    .option('--json', 'print JSON');
}
