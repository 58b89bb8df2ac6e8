import { z } from 'zod';
import { SESSION_COUNTS } from '../../store/archive/rollups.ts';
import { COUNTS } from '../../store/archive/usage-sums.ts';
import { byColumnName } from '../../store/database/columns.ts';
import { SOURCES, type Source } from '../../store/ledger/record.ts';
import {
  GROUP_CHOICES,
  GROUP_WORDS,
  GROUPINGS,
  isTime,
  parseGroupBy,
  type Time,
  USAGE_SOURCES,
} from '../../store/reports/query.ts';
import { TEAM_GROUPINGS } from '../../store/team/usage.ts';
import { describe } from '../operation.ts';
import {
  count,
  listOf,
  money,
  nanoUsd,
  only_project,
  page_size,
  time,
  timeParameter,
  usd,
} from './fields.ts';
import { conditions } from './requests.ts';

const figures = {
  ...byColumnName(COUNTS, () => count),
  cost_usd: usd,
  saved_usd: usd,
  missed_tokens: count.describe("input that the provider's cache could have served"),
  missed_usd: usd.describe('what it cost beyond the price of reading it'),
  replayed_requests: count.describe('answered from disk at no cost; saved_usd counts what they cost first'),
};
const nanoFigures = { cost_nano_usd: nanoUsd, saved_nano_usd: nanoUsd, missed_nano_usd: nanoUsd };

type Key = z.ZodOptional<z.ZodString>;

/** The keys of rows by time. */
const timeKeys = (times: readonly Time[]) =>
  Object.fromEntries(
    times.map((time) => [time, (time === 'day' ? z.iso.date() : z.string()).optional()]),
  ) as Record<Time, Key>;

const usageKey = {
  ...timeKeys(GROUPINGS.filter(isTime)),
  model: z.string().optional(),
  project_id: z.string().optional(),
  process: z.string().optional(),
  repo: z.string().optional(),
  session: z.string().optional().describe("the agent's own id of its session"),
  agent: z.string().optional(),
  key: z.string().optional().describe('label or id of a key'),
  label: z.string().optional().describe('value of the label'),
};

const usageScope = {
  object: z.literal('usage'),
  project_id: z.string().nullable(),
  from: z.iso.date(),
  to: z.iso.date(),
  timezone: z.string(),
  group_by: z.string().describe('rows of two things have both keys'),
};

export const Usage = z.object({
  ...usageScope,
  data: z.array(z.object({ ...usageKey, ...figures })),
  total: z.object(figures),
});

const UsageReport = z.object({
  ...usageScope,
  data: z.array(z.object({ ...usageKey, ...figures, ...nanoFigures })),
  total: z.object({ ...figures, ...nanoFigures }),
});

const { missed_tokens: _tokens, missed_usd: _usd, replayed_requests: _replayed, ...teamFigures } = figures;
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
      ...timeKeys(TEAM_GROUPINGS.filter(isTime)),
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

const UsageTrends = z.object({
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
  source: z.enum(Object.keys(SOURCES) as [Source]).describe('imported: from its log, at list price'),
  project_id: z.string(),
  repo: z.string().nullable(),
  first_at: time,
  last_at: time,
  ...byColumnName(SESSION_COUNTS, () => count),
  requests: count.describe('ended ones; blocked and failed ones too'),
  ...money('cost'),
  runaway: z
    .object({ message: z.string(), found_at: time })
    .nullable()
    .describe('why it is taken for a runaway, and since when'),
});

export type UsageView = z.infer<typeof UsageReport>;
export type UsageViewRow = UsageView['data'][number];
export type TeamUsageView = z.infer<typeof TeamUsageReport>;
export type UsageTrendsView = z.infer<typeof UsageTrends>;
export type SessionView = z.infer<typeof Session>;

/** The days of a report. */
export const days = {
  from: z.string().optional().describe('first day, YYYY-MM-DD or 7d; by default 29 days before the last'),
  to: z.string().optional().describe('last day; by default today'),
  month: z.string().optional().describe('YYYY-MM, instead of from and to'),
};

export const source = z
  .enum(USAGE_SOURCES, { error: `use ${USAGE_SOURCES.join(', ')}` })
  .optional()
  .describe('what came through gw (the default), what was imported from logs of agents, or both');

export const usage = describe({
  summary: `usage and cost by ${GROUP_WORDS}, or two of them`,
  query: z.strictObject({
    ...days,
    ...conditions,
    source,
    timezone: z.enum(['UTC']).optional().describe("days of UTC instead of gw's time zone"),
    group_by: z
      .string()
      .refine((text) => parseGroupBy(text) !== undefined, { error: `use ${GROUP_CHOICES}` })
      .default('day')
      .describe(GROUP_CHOICES),
  }),
  response: UsageReport,
});

export const usageTrends = describe({
  summary: 'spend on each day, by the key of the row of the usage report',
  query: z.strictObject({
    ...days,
    ...conditions,
    source,
    group_by: z.string().refine((text) => text !== 'day' && parseGroupBy(text)?.includes(',') === false, {
      error: 'use one thing other than day, such as model',
    }),
  }),
  response: UsageTrends,
});

const sessionQuery = z.strictObject({
  project_id: only_project,
  agent: conditions.agent,
  since: timeParameter.optional(),
  source: z
    .enum(USAGE_SOURCES)
    .default('all')
    .describe('sessions through gw, imported ones, or both; one that is partly imported is in both'),
  limit: page_size.default(50),
});

export const resumeSession = describe({
  summary: 'let a session that is taken for a runaway go on',
  admin: ['letting sessions go on', 'gw sessions resume ID'],
  body: z.strictObject({ project_id: z.string().optional().describe('only in this project') }),
  response: z.object({ object: z.literal('session'), id: z.string(), resumed: z.literal(true) }),
});

export const sessions = describe({
  summary: 'the sessions of agents, the last active first',
  query: sessionQuery.extend({
    since: timeParameter.optional().describe('only sessions with a request since then'),
  }),
  response: listOf(Session),
});

export const session = describe({
  summary: "the sessions with an agent's own id: one, unless several agents or projects use it",
  query: sessionQuery,
  response: listOf(Session),
});
