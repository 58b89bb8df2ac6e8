import { z } from 'zod';
import { createCalendar } from '../../calendar.ts';
import { badRequest } from '../../errors.ts';
import { parseRequestId, type RequestId } from '../../ids.ts';
import { RequestBodiesReport } from '../../reading/bodies-schema.ts';
import { CacheReport } from '../../reading/cache-schema.ts';
import { RecordedCall } from '../../reading/call-schema.ts';
import {
  BudgetReport,
  Dashboard,
  DistrustedBound,
  Key,
  Price,
  PriceInForce,
  Project,
  Providers,
  RequestReport,
  Session,
  Status,
  Team,
  TeamUsageReport,
  UsageReport,
  UsageTrends,
  Whoami,
} from '../../reading/schemas.ts';
import { Delivery } from '../../reading/webhook-schemas.ts';
import { FEED_KINDS } from '../../store/dashboard/feed.ts';
import { WINDOWS } from '../../store/dashboard/reader.ts';
import {
  GROUP_BYS,
  GROUP_CHOICES,
  GROUPINGS,
  type GroupBy,
  type Grouping,
  USAGE_SOURCES,
} from '../../store/reports/query.ts';
import { TEAM_GROUPINGS } from '../../store/team/usage.ts';
import { VERSION } from '../../version.ts';
import { type SpanQuery, usageSpan } from '../usage-span.ts';
import { operation } from './operation.ts';

const MAX_PAGE = 1_000;

export const listOf = (item: z.ZodType) => z.object({ object: z.literal('list'), data: z.array(item) });

const project_id = z.string().optional().describe('only this project');
export const timeParameter = z.iso
  .datetime({ offset: true, error: 'use an ISO 8601 time such as 2026-01-31T12:00:00Z' })
  .transform(Date.parse);
const limit = z.coerce
  .number({ error: `use a whole number from 1 to ${MAX_PAGE}` })
  .int()
  .min(1)
  .max(MAX_PAGE);
const groupBys = z.enum(GROUP_BYS as [GroupBy], { error: `use ${GROUP_CHOICES}` });
const groupings = GROUPINGS.filter((each) => each !== 'day');

const conditions = {
  project_id,
  model: z
    .string()
    .optional()
    .describe('the model that served the request, as provider/model or without the provider'),
  key: z.string().optional().describe('id or label of a key'),
  agent: z.string().optional().describe('such as claude'),
  session: z.string().optional().describe("the agent's own id of a session"),
  repo: z.string().optional().describe('path of a git repository'),
  status: z.string().optional().describe('an HTTP status, an outcome, or failed'),
};

export const span = {
  from: z.string().optional().describe('first day, YYYY-MM-DD or 7d; by default 29 days before the last'),
  to: z.string().optional().describe('last day; by default today'),
  month: z.string().optional().describe('YYYY-MM, instead of from and to'),
  ...conditions,
};

/** Of usage reports. */
export const source = z
  .enum(USAGE_SOURCES, { error: `use ${USAGE_SOURCES.join(', ')}` })
  .optional()
  .describe('what came through gw (the default), what was imported from logs of agents, or both');

const timezone = z.enum(['UTC']).optional().describe("days of UTC instead of gw's time zone");

const cursorPage = z.object({ object: z.literal('list'), data: z.array(RequestReport) });

/** The query of a report as the reader takes it. */
function usageFilter<Query extends SpanQuery & { project_id?: string | undefined }>(
  { from, to, month, project_id: project, ...rest }: Query,
  today: string,
) {
  return { ...rest, ...usageSpan({ from, to, month }, today), project };
}

/** The request that a page begins beside. Throws GwError 400. */
function cursorOf(text: string | undefined, whence: string): RequestId | undefined {
  const id = text === undefined ? undefined : parseRequestId(text);
  if (text !== undefined && id === undefined)
    throw badRequest(`"cursor" is "${text}": use ${whence}`, 'cursor');
  return id;
}

const list = <T>(data: T[]) => ({ object: 'list' as const, data });

/** What the HTTP API reads. */
export const READ_OPERATIONS = {
  'GET /v1/gw/whoami': operation({
    summary: 'the gw that answers, and the key that asks',
    response: Whoami,
    run: async ({ caller, reader, now }) => {
      const own = (await reader.keys({ project: caller.project })).find(({ id }) => id === caller.keyId);
      if (!own) throw new Error(`key ${caller.keyId} vanished`);
      const { id, project_id, hint, admin, label } = own;
      return {
        object: 'whoami' as const,
        version: VERSION,
        timezone: (await reader.calendar()).timezone,
        now: new Date(now()).toISOString(),
        key: { id, project_id, hint, admin, label },
      };
    },
  }),
  'GET /v1/gw/usage': operation({
    summary:
      'usage and cost by day, model, project, program, repository, session, agent, key, or two of them',
    query: z.strictObject({ ...span, source, timezone, group_by: groupBys.default('day') }),
    response: UsageReport,
    run: async ({ reader, now, query: { group_by: groupBy, ...query } }) => {
      const today = (await reader.calendar()).dateOf(now());
      return reader.usage({ ...usageFilter(query, today), groupBy });
    },
  }),
  'GET /v1/gw/usage/trends': operation({
    summary: 'spend on each day, by the key of the row of the usage report',
    query: z.strictObject({ ...span, source, group_by: z.enum(groupings as [Exclude<Grouping, 'day'>]) }),
    response: UsageTrends,
    run: async ({ reader, now, query: { group_by: groupBy, ...query } }) => {
      const today = (await reader.calendar()).dateOf(now());
      return reader.usageTrends({ ...usageFilter(query, today), groupBy });
    },
  }),
  'GET /v1/gw/sessions': operation({
    summary: 'the sessions of agents, the last active first',
    query: z.strictObject({
      project_id,
      agent: conditions.agent,
      since: timeParameter.optional().describe('only sessions with a request since then'),
      limit: limit.default(50),
    }),
    response: listOf(Session),
    run: async ({ reader, query: { project_id: project, ...query } }) =>
      list(await reader.sessions({ ...query, project })),
  }),
  'GET /v1/gw/sessions/{id}': operation({
    summary: "the sessions with an agent's own id: one, unless several agents or projects use it",
    query: z.strictObject({
      project_id,
      agent: conditions.agent,
      since: timeParameter.optional(),
      limit: limit.default(50),
    }),
    response: listOf(Session),
    run: async ({ reader, parameters: { id = '' }, query: { project_id: project, ...query } }) =>
      list(await reader.sessions({ ...query, id, project })),
  }),
  'GET /v1/gw/cache': operation({
    summary: "what the providers' caches could have served and didn't, the newest first, and why",
    query: z.strictObject({
      project_id,
      session: conditions.session,
      since: timeParameter.optional().describe('only requests since then'),
      limit: limit.default(200),
    }),
    response: CacheReport,
    run: ({ reader, query: { project_id: project, ...query } }) => reader.cache({ ...query, project }),
  }),
  'GET /v1/gw/requests': operation({
    summary: 'requests, newest first',
    query: z.strictObject({
      ...conditions,
      since: timeParameter.optional(),
      until: timeParameter.optional().describe('exclusive'),
      limit: limit.default(50),
      cursor: z.string().optional().describe('next_cursor of the page before'),
    }),
    response: cursorPage.extend({ next_cursor: z.string().nullable().describe('null on the last page') }),
    run: async ({ reader, query: { project_id: project, cursor, limit: size, ...filter } }) => {
      const before = cursorOf(cursor, 'next_cursor of the page before');
      const found = await reader.requests({ ...filter, project, before, limit: size + 1 });
      const data = found.slice(0, size);
      const hasMore = found.length > size;
      return { ...list(data), next_cursor: hasMore ? (data.at(-1)?.id ?? null) : null };
    },
  }),
  'GET /v1/gw/requests/{id}': operation({
    summary: 'one request in full',
    response: RequestReport,
    run: ({ reader, parameters: { id = '' } }) => reader.request(id),
  }),
  'GET /v1/gw/requests/{id}/bodies': operation({
    summary: 'the bodies of a request that the optimizer changed, where requests.keep_bodies is on',
    admin: ['reading the bodies of requests', 'gw requests ID --diff'],
    response: RequestBodiesReport,
    run: ({ reader, parameters: { id = '' } }) => reader.requestBodies(id),
  }),
  'GET /v1/gw/tail': operation({
    summary: 'the requests recorded since the last call with the cursor; without one, following begins',
    query: z.strictObject({
      project_id,
      status: z.string().optional().describe('an HTTP status, an outcome, or failed'),
      cursor: z.string().optional().describe('expires a minute after its last use'),
    }),
    response: cursorPage.extend({ next_cursor: z.string() }),
    run: async ({ reader, polls, caller, query: { project_id: project, status, cursor } }) => {
      const filter = { project, status };
      const page = await polls.tail({ reader, keyId: caller.keyId, filter, cursor });
      return { object: 'list' as const, ...page };
    },
  }),
  'GET /v1/gw/calls': operation({
    summary: "what of an agent's requests tells them apart, oldest first, running ones included",
    query: z.strictObject({
      agent: z.string().describe('such as claude or codex; empty for requests of unknown programs'),
      since: timeParameter,
      until: timeParameter.describe('exclusive'),
      limit: limit.default(MAX_PAGE),
      cursor: z.string().optional().describe('id of the last call of the page before'),
    }),
    response: listOf(RecordedCall),
    run: async ({ reader, query: { cursor, ...query } }) =>
      list(await reader.calls({ ...query, after: cursorOf(cursor, 'the id of a call') })),
  }),
  'GET /v1/gw/budgets': operation({
    summary: 'the budgets as they stand',
    query: z.strictObject({
      project_id,
      repo: z.string().optional().describe('only budgets that count requests from this repository'),
    }),
    response: listOf(BudgetReport),
    run: async ({ reader, query: { project_id: project, repo } }) =>
      list(await reader.budgets({ project, repo })),
  }),
  'GET /v1/gw/keys': operation({
    summary: 'the keys, without their secrets',
    query: z.strictObject({
      project_id,
      revoked: z.stringbool().default(false).describe('also revoked ones'),
    }),
    response: listOf(Key),
    run: async ({ reader, query: { project_id: project, revoked } }) =>
      list(await reader.keys({ project, revoked })),
  }),
  'GET /v1/gw/projects': operation({
    summary: 'the projects',
    response: listOf(Project),
    run: async ({ reader }) => list(await reader.projects()),
  }),
  'GET /v1/gw/prices': operation({
    summary: 'the prices that the user set',
    response: listOf(Price),
    run: async ({ reader }) => list(await reader.prices()),
  }),
  'GET /v1/gw/prices/in-force': operation({
    summary: 'the price in force of a model, at its provider or at each that sells it',
    query: z.strictObject({ model: z.string().describe('provider/model, or the name of a model alone') }),
    response: listOf(PriceInForce),
    run: async ({ reader, query: { model } }) => list(await reader.pricesInForce(model)),
  }),
  'GET /v1/gw/providers': operation({
    summary: 'the providers, and those that cannot be used',
    response: Providers,
    run: ({ reader }) => reader.providers(),
  }),
  'GET /v1/gw/status': operation({
    summary: "today's usage, the budgets, the providers and their problems",
    response: Status,
    run: ({ reader }) => reader.status(),
  }),
  'GET /v1/gw/team': operation({
    summary: 'the team that this gateway belongs to, and its budgets',
    response: Team,
    run: ({ reader }) => reader.team(),
  }),
  'GET /v1/gw/team/usage': operation({
    summary: 'usage and cost of the whole team, from its database: by day, project, model or who spent',
    query: z.strictObject({
      from: span.from,
      to: span.to,
      month: span.month,
      group_by: z.enum(TEAM_GROUPINGS, { error: `use ${TEAM_GROUPINGS.join(', ')}` }).default('day'),
    }),
    response: TeamUsageReport,
    admin: ["the team's usage", 'gw usage --team'],
    run: async ({ reader, now, query: { group_by: groupBy, ...query } }) => {
      const { timezone } = await reader.team();
      const calendar = timezone === null ? await reader.calendar() : createCalendar(timezone);
      return reader.teamUsage({ ...usageSpan(query, calendar.dateOf(now())), groupBy });
    },
  }),
  'GET /v1/gw/bounds': operation({
    summary: "the bounds of holds that are off because a provider's report exceeded them",
    response: listOf(DistrustedBound),
    run: async ({ reader }) => list(await reader.distrustedBounds()),
  }),
  'GET /v1/gw/deliveries': operation({
    summary: 'deliveries to webhooks, newest first',
    query: z.strictObject({
      project_id,
      webhook_id: z.string().optional(),
      status: z.enum(['pending', 'sending', 'delivered', 'failed']).optional(),
      since: timeParameter.optional(),
      limit: limit.default(50),
    }),
    response: listOf(Delivery),
    run: async ({ reader, query }) => {
      const { project_id: project, webhook_id: webhook, status, since, limit: size } = query;
      const deliveries = await reader.deliveries({
        ...(project === undefined ? {} : { project }),
        ...(webhook === undefined ? {} : { webhook }),
        ...(status === undefined ? {} : { status }),
        ...(since === undefined ? {} : { since }),
        limit: size,
      });
      return list(deliveries as z.input<typeof Delivery>[]);
    },
  }),
  'GET /v1/gw/dashboard': operation({
    summary:
      'what the dashboard shows, of the project of a project key; data is null if nothing changed since the version `unless`',
    query: z.strictObject({
      window: z.enum(WINDOWS).default('day'),
      kind: z.enum(FEED_KINDS).default('all'),
      text: z.string().default('').describe("part of a model's or project's name"),
      unless: z.string().optional(),
    }),
    response: z.object({
      object: z.literal('dashboard'),
      version: z.string(),
      data: Dashboard.nullable(),
    }),
    run: async ({ caller, reader, polls, now, query: { window, kind, text, unless } }) => {
      const query = { window, filter: { kind, text }, now: now() };
      return { object: 'dashboard' as const, ...(await polls.dashboard(caller, reader, query, unless)) };
    },
  }),
};
