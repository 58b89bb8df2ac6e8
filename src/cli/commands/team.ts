import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { openSettingsFile } from '../../config/save.ts';
import { readSecrets, TEAM_URL } from '../../config/secrets.ts';
import { systemRandom } from '../../ids.ts';
import { formatUsd } from '../../money.ts';
import type { TeamView } from '../../operations/schemas/team.ts';
import { createArchive, SEARCH_MS } from '../../store/archive/archive.ts';
import type { Db } from '../../store/database/open.ts';
import { changeConfiguration, inTransaction } from '../../store/database/write.ts';
import {
  addMembership,
  makeCourier,
  readMembership,
  removeMembership,
  startLeaving,
} from '../../store/team/membership.ts';
import { applyTeamBudgets } from '../../store/team/team-budgets.ts';
import { createDemands } from '../../team/demands.ts';
import { fingerprintOf } from '../../team/fingerprint.ts';
import { createTeamClock } from '../../team/team-clock.ts';
import { usdText } from '../../terminal/numbers.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import { duration } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, sayJson, screenOf, tell } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { CliError, EXIT, Exit, usageError } from '../exit.ts';
import { readSecret } from '../input/prompt.ts';
import { addTeamAdminCommands } from '../team/admin-commands.ts';
import { withAuthority } from '../team/connection.ts';
import { withGateway } from '../with-gateway.ts';
import { withStore } from '../with-store.ts';

export const team: SetUp = (command, context) => {
  join(command, context);
  command
    .command('leave')
    .description("return all of the team's money, once running requests have ended, and leave")
    .action(() => leave(context));
  command
    .command('status')
    .description('show whether the team can be reached, and what is granted here')
    .option(...AS_JSON)
    .addHelpText('after', "\nExits with code 3 if the team's database can't be reached.")
    .action(async ({ json }) => {
      const team = await withGateway(context, (reader) => reader.team());
      if (json) sayJson(context, team);
      else if (team.name === null)
        throw new CliError('this gateway belongs to no team. To join one: gw team join URL');
      else tell(context, lines(context, team).join('\n'));
      if (team.unreachable_since !== null) throw new Exit(EXIT.daemonDown);
    });
  addTeamAdminCommands(command, context);
};

/** Joins a team. Its budgets count from now on: what was spent before is nobody's but this gateway's. */
const join: SetUp = (command, context) =>
  command
    .command('join [url]')
    .description("make this gateway a member: its share of the team's budgets comes from there")
    .option('--stdin', 'read the URL from stdin: it may hold a password')
    .option('--name <name>', "this gateway's name in the team (default: the host's)")
    .option('--courier', "deliver the team's events too; without a URL, for a gateway that is a member")
    .option(...AS_JSON)
    .action(async (given, options) => {
      if (options.courier && given === undefined && !options.stdin)
        return becomeCourier(context, options.json);
      const url = options.stdin ? await readSecret(context) : given;
      if (!url) throw usageError('where is the team? gw team join postgres://ROLE@HOST/DATABASE, or --stdin');
      const name = options.name ?? hostname();
      await withStore(context, async (db) => {
        const { database, credentials } = context.paths;
        const fingerprint = fingerprintOf(database);
        const now = context.clock.now();
        const before = readMembership(db);
        if (before && before.fingerprint === fingerprint)
          throw new CliError(
            `this gateway is "${before.name}" of the team ${before.teamName}. To leave it: gw team leave`,
          );
        await withAuthority(url, async (authority) => {
          const config = await authority.budgets();
          if (options.courier) await authority.mayDeliver();
          const token = randomBytes(32).toString('hex');
          const nonce = randomBytes(16).toString('hex');
          (await openSettingsFile(credentials)).set([TEAM_URL], url);
          const gatewayId = await authority.join({ name, token, nonce });
          changeConfiguration(db, () => {
            // A copy of another gateway's state: that one's money is not this one's.
            if (before) removeMembership(db, now);
            addMembership(db, {
              gatewayId,
              name,
              teamName: config.name,
              token,
              nonce,
              fingerprint,
              timezone: config.timezone,
              courier: options.courier ? 1 : 0,
              joinedAt: now,
            });
            applyTeamBudgets(db, config.budgets, { now, version: config.version });
          });
          if (options.json) {
            sayJson(context, membershipView(config.name, name, gatewayId));
            return;
          }
          tell(context, `joined the team ${config.name} as gateway ${gatewayId}, "${name}".`);
          for (const { project, period, capNanoUsd, spentNanoUsd } of config.budgets)
            tell(
              context,
              `  ${project || 'whole team'}, ${period}: ${formatUsd(spentNanoUsd)} of ${formatUsd(capNanoUsd)} spent`,
            );
          if (config.budgets.length === 0)
            tell(context, 'It has no budgets yet. An admin sets one: gw team budgets set 50');
          tell(context, 'See: gw team status');
        });
      });
    });

/** Has a gateway that is a member already deliver the team's events. */
async function becomeCourier(context: Context, json = false): Promise<void> {
  await withStore(context, async (db) => {
    const membership = readMembership(db);
    if (!membership) throw usageError('which team? gw team join URL --courier');
    const url = readSecrets(context.paths.credentials)[TEAM_URL] ?? '';
    await withAuthority(url, (authority) => authority.mayDeliver());
    makeCourier(db);
    const { name, teamName, gatewayId } = membership;
    if (json) sayJson(context, membershipView(teamName, name, gatewayId));
    else
      tell(context, `Gateway "${name}" delivers the events of the team ${teamName} when no other one does.`);
  });
}

const membershipView = (team: string, gateway: string, id: number) => ({
  ...{ object: 'team_membership', name: team, gateway, gateway_id: id },
});

const LIMIT_MS = 40_000;
const POLL_MS = 100;

/** Leaves the team: the daemon returns the money once its requests have ended, or this process where none runs. */
async function leave(context: Context): Promise<void> {
  await withStore(context, async (db) => {
    const membership = readMembership(db);
    if (!membership) throw new CliError('this gateway belongs to no team. To join one: gw team join URL');
    if (membership.fingerprint !== fingerprintOf(context.paths.database)) {
      // It has no money: what the team granted is the other's.
      removeMembership(db, context.clock.now());
    } else if ((await findDaemon(context)).kind === 'running') {
      await waitForDaemon(context, db);
    } else {
      await leaveHere(context, db);
    }
    (await openSettingsFile(context.paths.credentials)).delete([TEAM_URL]);
    tell(
      context,
      `left the team ${membership.teamName}. Its budgets no longer count requests of this gateway.`,
    );
  });
}

async function waitForDaemon(context: Context, db: Db): Promise<void> {
  startLeaving(db);
  for (const deadline = context.clock.monotonic() + LIMIT_MS; ; ) {
    const membership = readMembership(db);
    if (!membership) return;
    if (membership.leaving === 0)
      throw new CliError(
        `this gateway is still a member: ${membership.failure ?? 'the daemon could not tell the team'}. See: gw team status`,
      );
    if (context.clock.monotonic() > deadline)
      throw new CliError(
        "requests still run that hold the team's money. The daemon leaves when they have ended: gw team status",
      );
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function leaveHere(context: Context, db: Db): Promise<void> {
  const { clock, paths } = context;
  const membership = readMembership(db);
  if (!membership) return;
  const [{ createPostgresAuthority }, { createSyncAgent }, { pushLastUsage }] = await Promise.all([
    import('../../team/postgres/authority.ts'),
    import('../../team/sync-agent.ts'),
    import('../../team/usage-push.ts'),
  ]);
  const archive = createArchive(db);
  while (inTransaction(db, () => archive.takeOver(clock.now() + SEARCH_MS)));
  const teamClock = createTeamClock(clock, membership.offsetMs);
  const write = async <T>(command: () => T) => inTransaction(db, command);
  const common = {
    db,
    ledger: { writeBudgets: write, writeApart: write, settled: async () => {} },
    clock,
    authority: createPostgresAuthority(readSecrets(paths.credentials)[TEAM_URL] ?? ''),
    identity: { gateway: membership.gatewayId, token: membership.token },
    log: { info() {}, warn() {} },
  };
  const agent = createSyncAgent({
    ...common,
    teamClock,
    random: systemRandom,
    demands: createDemands(clock, teamClock),
    onKeysVersion() {},
    onAnswer() {},
    onLeaving: () => pushLastUsage({ ...common, onRefused() {} }),
  });
  await agent.leave();
}

function lines(context: Context, team: TeamView): string[] {
  const terminal = screenOf(context);
  const ago = (time: string) => duration(Math.max(0, context.clock.now() - Date.parse(time)));
  const offset = ((team.clock_offset_ms ?? 0) / 1000).toFixed(2);
  return [
    `${terminal.palette.bold(`Team ${team.name}`)} (${team.timezone}), gateway ${team.gateway_id}, "${team.gateway}"`,
    team.synced_at === null
      ? "The team's database has not answered yet. Is the daemon running? gw status"
      : `Last sync ${ago(team.synced_at)} ago; this clock is ${offset} s behind the team's.`,
    ...(team.unreachable_since === null
      ? []
      : [
          `Out of reach for ${ago(team.unreachable_since)}: ${team.failure ?? 'no answer'}.${team.budgets.some(({ room_usd }) => room_usd > 0) ? ' What is granted is spent meanwhile.' : ''}`,
        ]),
    ...(team.frozen
      ? ['Frozen after a failover: nothing is granted until an admin runs gw team recover.']
      : []),
    ...(team.courier ? ["This gateway delivers the team's events."] : []),
    ...(team.leaving ? ['Leaving: requests that run hold money yet.'] : []),
    '',
    ...(team.budgets.length === 0
      ? ['No budgets. An admin sets one: gw team budgets set 50']
      : table(team.budgets, COLUMNS, { terminal })),
  ];
}

type Row = TeamView['budgets'][number];

const usd = (header: string, of: (row: Row) => number) => right<Row>(header, (row) => usdText(of(row)));

const COLUMNS: Column<Row>[] = [
  { header: 'budget', value: ({ id }) => id, shrinks: true },
  usd('cap', (row) => row.cap_usd),
  usd('team spent', (row) => row.spent_usd),
  usd('left', (row) => row.team_left_usd ?? 0),
  usd('granted here', (row) => row.granted_usd ?? 0),
  usd('spent here', (row) => row.spent_here_usd),
  usd('room', (row) => row.room_usd),
  usd('held', (row) => row.held_usd),
  { header: '', value: ({ short }) => (short ? 'short' : '') },
];
