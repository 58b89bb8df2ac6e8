import { createCalendar } from '../../calendar.ts';
import type { TeamUsageView, UsageView } from '../../reading/schemas.ts';
import { TEAM_GROUPINGS } from '../../store/team/usage-query.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { type Context, note, say, sayJson, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import { withReader } from '../with-gateway.ts';
import { usageCsv } from './csv.ts';
import { daysOf, type UsageOptions } from './options.ts';
import { rowsOf } from './rows.ts';
import { usageTable } from './table.ts';

/** Options of the report that need records, which a team has none of. */
const LOCAL_ONLY = ['project', 'model', 'key', 'agent', 'session', 'repo', 'status'] as const;

/** The whole team's usage, from its database. */
export async function runTeam(context: Context, options: UsageOptions): Promise<void> {
  const groupBy = TEAM_GROUPINGS.find((each) => each === options.groupBy);
  if (!groupBy)
    throw usageError(
      `--group-by ${options.groupBy} does not go with --team: use ${TEAM_GROUPINGS.join(', ')}`,
    );
  const local = LOCAL_ONLY.find((name) => options[name] !== undefined);
  if (local) throw usageError(`--${local} does not go with --team: the team has sums alone. Use --group-by`);
  if (options.source !== 'gw')
    throw usageError('--source does not go with --team: gateways send what came through gw');
  await withReader(context, async (reader) => {
    const { timezone } = await reader.team();
    const calendar = timezone === null ? await reader.calendar() : createCalendar(timezone);
    const days = daysOf(options, calendar, context.clock.now());
    const report = await reader.teamUsage({ ...days, groupBy });
    if (options.json) return sayJson(context, report);
    if (options.csv) return say(context, usageCsv(asUsage(report)));
    const parts = groupBy === 'day' ? await reader.teamUsage({ ...days, groupBy: 'model' }) : report;
    tell(
      context,
      usageTable(asUsage(report), terminalOf(context.stdout, context.env, options), {
        parts: rowsOf(asUsage(parts)),
        whose: `team ${report.team}`,
      }),
    );
    if (report.scope === 'own')
      note(
        context,
        "Only gateways that this one's role has joined: it may not see the others. As an admin: GW_TEAM_URL=postgres://ADMIN@HOST/DATABASE gw usage --team",
      );
  });
}

/** As a report of usage: rows of keys and gateways have a second key, the member. */
function asUsage({ group_by, ...report }: TeamUsageView): UsageView {
  const isOfTwo = group_by === 'key' || group_by === 'gateway';
  const groups = isOfTwo ? `${group_by},member` : group_by;
  // Tables and CSV name their columns by it, and have columns for the figures that there are.
  return { ...report, object: 'usage', project_id: null, group_by: groups } as unknown as UsageView;
}
