import { type Command, Option } from 'commander';
import { systemTimezone } from '../../calendar.ts';
import { formatUsd, parseUsd, usdNumber } from '../../money.ts';
import { WEBHOOK_FORMATS } from '../../store/webhooks/endpoints.ts';
import type { TeamMember } from '../../team/authority.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { confirmLoss } from '../input/confirm.ts';
import { ask, canAsk, readSecret } from '../input/prompt.ts';
import { type BudgetOptions, listBudgets, removeBudget, setBudget } from './budgets.ts';
import { type AdminOptions, noSuch, withTeam } from './connection.ts';
import {
  type CreateKeyOptions,
  createKey,
  type ListKeysOptions,
  listKeys,
  type RevokeKeyOptions,
  revokeKey,
} from './keys.ts';
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

interface CreateOptions {
  stdin?: boolean;
  name: string;
  timezone?: string;
  json?: boolean;
}

/** Installs or upgrades the schema. */
async function createTeam(
  context: Context,
  given: string | undefined,
  { stdin, name, timezone, json }: CreateOptions,
): Promise<void> {
  const url = stdin ? await readSecret(context) : given;
  if (!url) throw usageError('where? gw team create postgres://ADMIN@HOST/DATABASE, or --stdin');
  const { installTeam } = await import('../../team/postgres/install.ts');
  const zone = timezone ?? context.env.GW_TIMEZONE ?? systemTimezone();
  const result = await installTeam(url, { name, timezone: zone });
  if (result.outcome === 'needs_rights') {
    say(context, result.sql);
    throw new CliError(
      `role ${result.user} may not create roles and schemas in this database. The SQL above does it all: have somebody run it who may, such as: psql DATABASE < FILE`,
      EXIT.failure,
    );
  }
  const { outcome, schema, detectsFailover } = result;
  if (json)
    sayJson(context, { object: 'team', outcome, schema, timezone: zone, detects_failover: detectsFailover });
  const done = {
    created: `Created the team ${name} in schema ${schema}; its days are those of ${zone}.`,
    upgraded: `Upgraded the team in schema ${schema} to the version of this gw.`,
    current: `The team in schema ${schema} is up to date.`,
  };
  note(context, done[outcome]);
  if (outcome === 'created') {
    note(
      context,
      `Its members log in by roles of their own: CREATE ROLE ann LOGIN PASSWORD '...' IN ROLE ${schema}_member`,
    );
    note(context, 'Next: gw team budgets set 50 --url URL, then on each machine: gw team join URL');
  }
  if (!detectsFailover) {
    note(
      context,
      'warning: this PostgreSQL does not tell of failovers. After one, run at once: gw team recover --freeze',
    );
  }
}

interface ForgetOptions extends AdminOptions {
  release?: boolean;
  amount?: string;
}

/** A gateway by id or name. */
async function forgetGateway(context: Context, text: string, options: ForgetOptions): Promise<void> {
  const { release = false, json } = options;
  if (options.amount !== undefined && !release)
    throw usageError('--amount confirms --release, which is missing');
  const { gateway, amount } = await withTeam(context, options, async (admin) => {
    const gateway = findGateway(await admin.members(), text);
    const held = gateway.outNanoUsd + gateway.assumedNanoUsd;
    if (release && held > 0)
      await confirmRelease(context, { name: gateway.name, held, amount: options.amount });
    return { gateway, amount: await admin.forget(gateway.id, { release }) };
  });
  if (json) {
    sayJson(context, {
      ...{
        object: 'team_gateway',
        id: gateway.id,
        name: gateway.name,
        state: 'forgotten',
        released: release,
      },
      ...{ amount_usd: usdNumber(amount), amount_nano_usd: amount },
    });
  }
  const fate = release
    ? `${formatUsd(amount)} that it held can be granted to others.`
    : `${formatUsd(amount)} that it held counts as spent, until it comes back and reports.`;
  note(context, `Forgot gateway ${gateway.id}, "${gateway.name}": ${fate}`);
}

function findGateway(members: readonly TeamMember[], text: string): TeamMember {
  const byId = members.find(({ id }) => String(id) === text);
  const named = byId ? [byId] : members.filter(({ name }) => name === text);
  const [found, ...others] = named;
  if (!found) throw noSuch('gateway', `"${text}"`, 'gw team members');
  if (others.length === 0) return found;
  throw usageError(
    `${named.length} gateways are named "${text}": ${named.map(({ id }) => id).join(', ')}. Use an id`,
  );
}

async function confirmRelease(
  context: Context,
  { name, held, amount }: { name: string; held: number; amount: string | undefined },
): Promise<void> {
  const risk = `"${name}" may have spent ${formatUsd(held)} that it has not reported. If it did, releasing it lets the team pass its cap by as much.`;
  if (amount === undefined && !canAsk(context)) {
    throw usageError(`${risk} To go ahead, add --amount ${usdNumber(held)}`);
  }
  const typed = amount ?? (await ask(context, `${risk} Type the amount to go ahead: `));
  if (parseUsd(typed.trim()) !== held) {
    throw new CliError(`"${typed.trim()}" is not ${usdNumber(held)}: nothing was changed`);
  }
}

async function listMembers(context: Context, options: AdminOptions): Promise<void> {
  const { members, status } = await withTeam(context, options, async (admin) => ({
    members: await admin.members(),
    status: await admin.status(),
  }));
  if (options.json) {
    sayJson(context, members.map(memberView));
    return;
  }
  if (members.length === 0) {
    note(context, `The team ${status.name} has no gateways. To join one: gw team join URL`);
    return;
  }
  const times = createTimeFormat(status.timezone);
  const now = context.clock.now();
  const lines = table(
    members,
    [
      { header: 'id', value: ({ id }) => String(id), align: 'right' },
      { header: 'gateway', value: ({ name }) => name, shrinks: true },
      { header: 'role', value: ({ member }) => member, shrinks: true },
      {
        header: 'state',
        value: ({ state, hasReported }) => (hasReported ? state : `${state}, not reported`),
      },
      { header: 'last sync', value: ({ syncedAt }) => times.moment(syncedAt, now) },
      { header: 'holds', value: ({ outNanoUsd }) => formatUsd(outNanoUsd), align: 'right' },
      { header: 'assumed', value: ({ assumedNanoUsd }) => formatUsd(assumedNanoUsd), align: 'right' },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
  if (status.frozenSince !== null) {
    note(
      context,
      `Frozen since ${times.moment(status.frozenSince, now)}: nothing is granted, because PostgreSQL failed over. When all who may hold money have reported: gw team recover`,
    );
  }
}

function memberView({ outNanoUsd, assumedNanoUsd, ...member }: TeamMember) {
  return {
    object: 'team_gateway',
    id: member.id,
    name: member.name,
    member: member.member,
    state: member.state,
    joined_at: new Date(member.joinedAt).toISOString(),
    synced_at: new Date(member.syncedAt).toISOString(),
    reported: member.hasReported,
    held_usd: usdNumber(outNanoUsd),
    held_nano_usd: outNanoUsd,
    assumed_usd: usdNumber(assumedNanoUsd),
    assumed_nano_usd: assumedNanoUsd,
  };
}

interface RecoverOptions extends AdminOptions {
  freeze?: boolean;
  yes?: boolean;
}

/** Ends or begins a freeze. */
async function recoverTeam(context: Context, options: RecoverOptions): Promise<void> {
  const { freeze = false, json, yes } = options;
  const wasFrozen = await withTeam(context, options, async (admin) => {
    const { frozenSince } = await admin.status();
    if (!freeze && frozenSince !== null) {
      const missing = (await admin.members()).filter(
        ({ state, hasReported }) => state === 'active' && !hasReported,
      );
      if (missing.length > 0) {
        const names = missing.map(({ name, outNanoUsd }) => `${name} (${formatUsd(outNanoUsd)})`).join(', ');
        await confirmLoss(
          context,
          `${missing.length} gateways have not reported since the failover, and may hold more than PostgreSQL knows: ${names}.`,
          { yes },
        );
      }
    }
    if (freeze || frozenSince !== null) await admin.recover({ freeze });
    return frozenSince !== null;
  });
  if (json) sayJson(context, { object: 'team', frozen: freeze });
  if (freeze)
    note(context, 'The team is frozen: gateways spend what they have and report. To end it: gw team recover');
  else
    note(
      context,
      wasFrozen ? 'The team grants money again.' : 'The team was not frozen. Nothing was changed.',
    );
}
