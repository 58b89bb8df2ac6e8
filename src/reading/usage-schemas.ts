import { z } from 'zod';
import { SESSION_COUNTS } from '../store/archive/rollups.ts';
import { COUNTS } from '../store/archive/usage-sums.ts';
import { byColumnName } from '../store/database/columns.ts';
import { GROUP_BYS, type GroupBy } from '../store/reports/query.ts';
import { TEAM_GROUPINGS } from '../store/team/usage.ts';

export const time = z.iso.datetime().describe('UTC');
export const count = z.number().int().min(0);
export const usd = z.number().describe('US dollars, at most 9 decimal places');
export const nanoUsd = z.number().int().describe('billionths of a US dollar');

const figures = {
  ...byColumnName(COUNTS, () => count),
  cost_usd: usd,
  saved_usd: usd,
  missed_tokens: count.describe("input that the provider's cache could have served"),
  missed_usd: usd.describe('what it cost beyond the price of reading it'),
};
const nanoFigures = { cost_nano_usd: nanoUsd, saved_nano_usd: nanoUsd, missed_nano_usd: nanoUsd };

const usageKey = {
  day: z.iso.date().optional(),
  model: z.string().optional(),
  project_id: z.string().optional(),
  process: z.string().optional(),
  repo: z.string().optional(),
  session: z.string().optional().describe("the agent's own id of its session"),
  agent: z.string().optional(),
  key: z.string().optional().describe('label or id of a key'),
};

const usageScope = {
  object: z.literal('usage'),
  project_id: z.string().nullable(),
  from: z.iso.date(),
  to: z.iso.date(),
  timezone: z.string(),
  group_by: z.enum(GROUP_BYS as [GroupBy]).describe('rows of two things have both keys'),
};

export const Usage = z.object({
  ...usageScope,
  data: z.array(z.object({ ...usageKey, ...figures })),
  total: z.object(figures),
});

export const UsageReport = z.object({
  ...usageScope,
  data: z.array(z.object({ ...usageKey, ...figures, ...nanoFigures })),
  total: z.object({ ...figures, ...nanoFigures }),
});

const { missed_tokens: _tokens, missed_usd: _usd, ...teamFigures } = figures;
const { missed_nano_usd: _nano, ...teamNanoFigures } = nanoFigures;

export const TeamUsageReport = z.object({
  object: z.literal('team_usage'),
  team: z.string(),
  scope: z
    .enum(['team', 'own'])
    .describe("own: only of the gateways that this one's role has joined, as it may not see the others"),
  from: z.iso.date(),
  to: z.iso.date(),
  timezone: z.string().describe("the team's"),
  group_by: z.enum(TEAM_GROUPINGS),
  data: z.array(
    z.object({
      day: z.iso.date().optional(),
      model: z.string().optional(),
      project_id: z.string().optional(),
      member: z.string().optional().describe('the role in PostgreSQL that joined the gateway'),
      gateway: z.string().optional(),
      key: z.string().optional().describe('label or id of a key'),
      ...teamFigures,
      ...teamNanoFigures,
    }),
  ),
  total: z.object({ ...teamFigures, ...teamNanoFigures }),
});

export const UsageTrends = z.object({
  object: z.literal('usage_trends'),
  data: z
    .array(z.object({ key: z.string(), cost_nano_usd: z.array(nanoUsd).describe('one for each day') }))
    .nullable()
    .describe('null for a span too long for a chart'),
});

export const Session = z.object({
  object: z.literal('session'),
  id: z.string().describe("the agent's own id of its session"),
  agent: z.string().nullable(),
  agent_version: z.string().nullable(),
  project_id: z.string(),
  repo: z.string().nullable(),
  first_at: time,
  last_at: time,
  ...byColumnName(SESSION_COUNTS, () => count),
  requests: count.describe('ended ones; blocked and failed ones too'),
  cost_usd: usd,
  cost_nano_usd: nanoUsd,
});

export type UsageView = z.infer<typeof UsageReport>;
export type UsageViewRow = UsageView['data'][number];
export type TeamUsageView = z.infer<typeof TeamUsageReport>;
export type UsageTrendsView = z.infer<typeof UsageTrends>;
export type SessionView = z.infer<typeof Session>;
