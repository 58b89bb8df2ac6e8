import { formatUsd } from '../../money.ts';
import type { TeamView } from '../../reading/schemas.ts';
import { type Column, table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { duration } from '../../terminal/time.ts';
import { type Context, sayJson, tell } from '../context.ts';
import { CliError, EXIT, Exit } from '../exit.ts';
import { withReader } from '../with-gateway.ts';

const NANO = 1e9;

/** This gateway's place in its team. Exits with code 3 if the team's database does not answer. */
export async function teamStatus(context: Context, { json }: { json?: boolean }): Promise<void> {
  const team = await withReader(context, (reader) => reader.team());
  if (json) sayJson(context, team);
  else if (team.name === null)
    throw new CliError('this gateway belongs to no team. To join one: gw team join URL');
  else tell(context, lines(context, team).join('\n'));
  if (team.unreachable_since !== null) throw new Exit(EXIT.daemonDown);
}

function lines(context: Context, team: TeamView): string[] {
  const terminal = terminalOf(context.stdout, context.env);
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

const usd = (header: string, of: (row: Row) => number): Column<Row> => ({
  header,
  value: (row) => formatUsd(Math.round(of(row) * NANO)),
  align: 'right',
});

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
