import { z } from 'zod';
import { TEAM_GROUPINGS } from '../../store/team/usage.ts';
import { describe } from '../operation.ts';
import { BudgetReport } from './budgets.ts';
import { count, time, usd } from './fields.ts';
import { days, TeamUsageReport } from './usage.ts';

/** This gateway's membership in a team, and the team's budgets. */
const Team = z.object({
  object: z.literal('team'),
  name: z.string().nullable().describe('null: this gateway belongs to no team'),
  gateway_id: count.nullable(),
  gateway: z.string().nullable().describe("this gateway's name in the team"),
  timezone: z.string().nullable(),
  joined_at: time.nullable(),
  synced_at: time.nullable().describe("when the team's database last answered"),
  unreachable_since: time.nullable(),
  failure: z.string().nullable().describe('why the last sync failed'),
  frozen: z.boolean().describe('nothing is granted after a failover, until gw team recover'),
  courier: z.boolean().describe("this gateway delivers the team's events"),
  clock_offset_ms: z.number().nullable().describe("how far this machine's clock is behind the team's"),
  leaving: z.boolean(),
  budgets: z.array(
    BudgetReport.extend({
      room_usd: usd.describe('what new requests may use here without asking the team'),
      spent_here_usd: usd,
      short: z.boolean().describe('money is short: gateways return what no request holds'),
      gateways: count.describe('how many gateways have lately synced'),
    }),
  ),
});
export type TeamView = z.infer<typeof Team>;

export const team = describe({
  summary: 'the team that this gateway belongs to, and its budgets',
  response: Team,
});

export const teamUsage = describe({
  summary: 'usage and cost of the whole team, from its database: by day, project, model or who spent',
  query: z.strictObject({
    ...days,
    group_by: z.enum(TEAM_GROUPINGS, { error: `use ${TEAM_GROUPINGS.join(', ')}` }).default('day'),
  }),
  response: TeamUsageReport,
  admin: ["the team's usage", 'gw usage --team'],
});
