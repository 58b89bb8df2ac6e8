import { systemTimezone } from '../../calendar.ts';
import { formatUsd, parseUsd, usdFields, usdNumber } from '../../money.ts';
import type { TeamMember } from '../../team/authority.ts';
import { right } from '../../terminal/table.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { ask, canAsk, confirmLoss, readSecret } from '../input/prompt.ts';
import { printList } from '../print-list.ts';
import { addBudgetCommands } from './budgets.ts';
import { type AdminOptions, addAdminOptions, noSuch, withTeam } from './connection.ts';
import { addKeyCommands } from './keys.ts';
import { addWebhookCommands } from './webhooks.ts';

/** Commands for the admin of a team. They talk to the team's PostgreSQL only. */
export const addTeamAdminCommands: SetUp = (command, context) => {
  create(command, context);
  addAdminOptions(command.command('members').description('list the gateways, and what they hold')).action(
    (options) => listMembers(context, options),
  );
  forget(command, context);
  recover(command, context);
  addBudgetCommands(command.command('budgets').description("show and set the team's budgets"), context);
  addWebhookCommands(command.command('webhooks').description("where the team's events go"), context);
  addKeyCommands(command.command('keys').description('keys that every gateway of the team accepts'), context);
};

const create: SetUp = (command, context) =>
  command
    .command('create [url]')
    .description("make a team in a PostgreSQL, or upgrade one to this gw's version")
    .option('--stdin', 'read the URL from stdin: it may hold a password')
    .option('--name <name>', "the team's name", 'team')
    .option('--timezone <zone>', "the zone of the team's days and months (default: this gw's)")
    .option(...AS_JSON)
    .addHelpText('after', '\nWhere the role may not create roles, prints the SQL for somebody who may.')
    .action(async (given, { stdin, name, timezone, json }) => {
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
        sayJson(context, {
          object: 'team',
          outcome,
          schema,
          timezone: zone,
          detects_failover: detectsFailover,
        });
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
    });

const forget: SetUp = (command, context) =>
  addAdminOptions(command.command('forget').description('count what a lost gateway held as spent'))
    .argument('<gateway>')
    .option('--release', 'grant it to others instead: if the gateway lives on, the cap can be passed')
    .option('--amount <dollars>', 'with --release: the amount at risk, as a confirmation')
    .action(async (text, options) => {
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
          ...usdFields('amount', amount),
        });
      }
      const fate = release
        ? `${formatUsd(amount)} that it held can be granted to others.`
        : `${formatUsd(amount)} that it held counts as spent, until it comes back and reports.`;
      note(context, `Forgot gateway ${gateway.id}, "${gateway.name}": ${fate}`);
    });

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
  if (amount === undefined && !canAsk(context))
    throw usageError(`${risk} To go ahead, add --amount ${usdNumber(held)}`);
  const typed = amount ?? (await ask(context, `${risk} Type the amount to go ahead: `));
  if (parseUsd(typed.trim()) !== held)
    throw new CliError(`"${typed.trim()}" is not ${usdNumber(held)}: nothing was changed`);
}

async function listMembers(context: Context, options: AdminOptions): Promise<void> {
  const { members, status } = await withTeam(context, options, async (admin) => ({
    members: await admin.members(),
    status: await admin.status(),
  }));
  const times = createTimeFormat(status.timezone);
  const now = context.clock.now();
  printList(
    context,
    members,
    [
      right('id', ({ id }) => String(id)),
      { header: 'gateway', value: ({ name }) => name, shrinks: true },
      { header: 'role', value: ({ member }) => member, shrinks: true },
      {
        header: 'state',
        value: ({ state, hasReported }) => (hasReported ? state : `${state}, not reported`),
      },
      { header: 'last sync', value: ({ syncedAt }) => times.moment(syncedAt, now) },
      right('holds', ({ outNanoUsd }) => formatUsd(outNanoUsd)),
      right('assumed', ({ assumedNanoUsd }) => formatUsd(assumedNanoUsd)),
    ],
    {
      json: options.json,
      data: members.map(memberView),
      empty: `The team ${status.name} has no gateways. To join one: gw team join URL`,
    },
  );
  if (!options.json && members.length > 0 && status.frozenSince !== null) {
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
    ...usdFields('held', outNanoUsd),
    ...usdFields('assumed', assumedNanoUsd),
  };
}

const recover: SetUp = (command, context) =>
  addAdminOptions(command.command('recover').description('grant money again after a failover'))
    .option('--freeze', 'stop granting until all gateways have reported')
    .option('--yes', 'do not ask, although gateways have not reported')
    .action(async (options) => {
      const { freeze = false, json, yes } = options;
      const wasFrozen = await withTeam(context, options, async (admin) => {
        const { frozenSince } = await admin.status();
        if (!freeze && frozenSince !== null) {
          const missing = (await admin.members()).filter(
            ({ state, hasReported }) => state === 'active' && !hasReported,
          );
          if (missing.length > 0) {
            const names = missing
              .map(({ name, outNanoUsd }) => `${name} (${formatUsd(outNanoUsd)})`)
              .join(', ');
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
        note(
          context,
          'The team is frozen: gateways spend what they have and report. To end it: gw team recover',
        );
      else
        note(
          context,
          wasFrozen ? 'The team grants money again.' : 'The team was not frozen. Nothing was changed.',
        );
    });
