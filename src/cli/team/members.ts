import { formatUsd, usdNumber } from '../../money.ts';
import type { TeamMember } from '../../team/authority.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { type AdminOptions, withTeam } from './connection.ts';

export async function listMembers(context: Context, options: AdminOptions): Promise<void> {
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
