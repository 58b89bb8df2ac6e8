import { createCalendar } from '../../../src/calendar.ts';
import { requestIdAt } from '../../../src/ids.ts';
import type { DashboardReading } from '../../../src/operations/reader.ts';
import type { AskView } from '../../../src/operations/schemas/asks.ts';
import type { BudgetView } from '../../../src/operations/schemas/budgets.ts';
import type { RequestView } from '../../../src/operations/schemas/requests.ts';
import type { TeamView } from '../../../src/operations/schemas/team.ts';
import type { TeamUsageView } from '../../../src/operations/schemas/usage.ts';
import { budgetResponse } from '../../../src/store/budgets/budget-response.ts';
import type { Standing } from '../../../src/store/budgets/budgets.ts';
import { type LoggedRequest, requestResponse } from '../../../src/store/requests/request-log.ts';
import { ASCII, BLOCKS } from '../../../src/terminal/bars.ts';
import type { Look } from '../../../src/terminal/look.ts';
import { PLAIN } from '../../../src/terminal/palette.ts';
import { createTimeFormat } from '../../../src/terminal/time.ts';
import { type DaemonView, initialState, receive, type State } from '../../../src/tui/state/state.ts';

/** Friday 2026-11-20, 14:02:11 in Paris. */
export const NOW = Date.UTC(2026, 10, 20, 13, 2, 11);
const HOUR_MS = 3_600_000;
const calendar = createCalendar('Europe/Paris');

export const LOOK: Look = {
  gw: 'gw',
  palette: PLAIN,
  symbols: BLOCKS,
  times: createTimeFormat('Europe/Paris'),
  timezone: 'Europe/Paris',
};
export const ASCII_LOOK: Look = { ...LOOK, symbols: ASCII };

type Row = DashboardReading['requests'][number];

export function rowAt(secondsAgo: number, fields: Partial<Row> = {}): Row {
  const timeMs = NOW - secondsAgo * 1_000;
  return {
    id: requestIdAt(timeMs),
    timeMs,
    project: 'team-web',
    provider: 'openai',
    model: 'gpt-4.1-mini',
    askedModel: 'gpt-4.1-mini',
    status: 200,
    outcome: 'ok',
    flags: [],
    inputTokens: 1_234,
    outputTokens: 456,
    costNanoUsd: 1_200_000,
    durationMs: 812,
    error: null,
    ...fields,
  };
}

export function standingOf(
  projectName: string,
  fields: Partial<Standing['budget']> & { posted: number; pending?: number },
): BudgetView {
  const { posted, pending = 0, ...terms } = fields;
  const period = terms.period ?? 'daily';
  const span = period === 'monthly' ? calendar.month(NOW) : calendar.day(NOW);
  const standing: Standing = {
    budget: {
      id: 1,
      projects: '',
      runaway: 'alert',
      projectId: 1,
      projectName,
      period,
      windowMs: null,
      capNanoUsd: 5e9,
      alertPercent: 80,
      teamBudgetId: null,
      onLimit: 'block',
      fallback: '',
      fallbackPercent: 100,
      fallbackVersion: 0,
      fallbackStart: 0,
      alertPercents: '',
      raisedNanoUsd: 0,
      raisedUntil: null,
      capVersion: 1,
      currentStart: span.start,
      repo: '',
      scopeKind: '',
      parentId: 0,
      removed: 0,
      scopeValue: '',
      keyId: 0,
      ...terms,
    },
    posted,
    pending,
    resetsAt: period === 'rolling' ? NOW + HOUR_MS : span.end,
  };
  return budgetResponse(standing, NOW) as BudgetView;
}

/** A working day: a full budget, one that runs out, refusals in a row, a failure, a webhook that fails. */
export const ASK: AskView = {
  object: 'ask',
  id: 'ask_03nmh2t0000',
  request_id: 'req_03nmh2t0000',
  project_id: 'agents',
  budget_id: 'agents/daily',
  model: 'claude-sonnet-4',
  agent: 'claude',
  session: null,
  runaway: null,
  needed_usd: 0.42,
  needed_nano_usd: 420_000_000,
  created_at: new Date(NOW).toISOString(),
  expires_at: new Date(NOW + 60_000).toISOString(),
  state: 'open',
};

export function sampleData(): DashboardReading {
  const blocked = (secondsAgo: number) =>
    rowAt(secondsAgo, {
      project: 'ci',
      model: 'gpt-4.1',
      status: 402,
      outcome: 'blocked',
      costNanoUsd: 0,
      budget: 'ci/monthly',
    });
  return {
    now: NOW,
    runaways: [],
    window: 'day',
    span: calendar.day(NOW),
    totals: {
      requests: 1_204,
      blockedRequests: 24,
      failedRequests: 9,
      unpricedRequests: 3,
      savedTokens: 120_000,
      costNanoUsd: 12_480_000_000,
      savedNanoUsd: 3_100_000_000,
    },
    p95Ms: 1_912,
    series: Array.from({ length: 24 }, (_, i) => (i > 14 ? undefined : (i % 5) * 4.16e8)),
    parts: [
      {
        name: 'claude-sonnet-4',
        series: Array.from({ length: 24 }, (_, i) => (i > 14 ? undefined : (i % 5) * 3e8)),
      },
      {
        name: 'gpt-4.1-mini',
        series: Array.from({ length: 24 }, (_, i) => (i > 14 ? undefined : (i % 5) * 1.16e8)),
      },
    ],
    running: [
      {
        ...{ id: requestIdAt(NOW - 41_000), timeMs: NOW - 41_000, project: 'agents', provider: 'anthropic' },
        ...{
          model: 'claude-sonnet-4',
          agent: 'claude',
          process: 'claude',
          repo: '/home/ann/shop',
          ...{ heldNanoUsd: 420_000_000, usedNanoUsd: 31_000_000, outputTokens: 2_410, tokensPerSecond: 58 },
        },
      },
    ],
    waiting: [],
    budgets: [
      standingOf('team-web', { posted: 8_200_000_000, capNanoUsd: 20e9 }),
      standingOf('agents', { posted: 4_280_000_000 }),
      standingOf('ci', { posted: 50e9, capNanoUsd: 50e9, period: 'monthly' }),
    ],
    asks: [],
    limits: [],
    imported: [],
    requests: [
      rowAt(2),
      rowAt(6, { model: '深度求索-聊天模型', provider: 'deepseek', flags: ['unpriced'], costNanoUsd: 0 }),
      ...Array.from({ length: 24 }, (_, i) => blocked(10 + i * 60)),
      rowAt(1_500, {
        project: 'agents',
        model: 'claude-sonnet-4',
        status: 529,
        outcome: 'upstream_error',
        costNanoUsd: 0,
        error: 'overloaded_error',
      }),
    ],
    callers: [
      { process: 'claude', repo: '/home/ann/shop', requests: 900, costNanoUsd: 9_300_000_000 },
      { process: 'node agent.mjs', repo: '/home/ann/blog', requests: 300, costNanoUsd: 2_800_000_000 },
    ],
    models: [
      { provider: 'anthropic', model: 'claude-sonnet-4', requests: 402, costNanoUsd: 9_000_000_000 },
      { provider: 'openai', model: 'gpt-4.1-mini', requests: 778, costNanoUsd: 3_480_000_000 },
    ],
    blocked: [
      { budget: 'ci/monthly', count: 24, firstAt: NOW - 23 * 60_000, lastAt: NOW - 10_000, model: 'gpt-4.1' },
    ],
    misses: [
      { cause: 'system_changed', requests: 41, missedTokens: 812_000, missedNanoUsd: 2_190_000_000 },
      { cause: 'idle_past_ttl', requests: 6, missedTokens: 240_000, missedNanoUsd: 648_000_000 },
    ],
    webhooks: [
      {
        id: 1,
        project: 'ci',
        host: 'hooks.slack.com',
        format: 'slack',
        disabledReason: null,
        failed: 3,
        open: 1,
        dueAt: NOW + 120_000,
        attempts: 4,
        attemptedAt: NOW - 60_000,
        status: 500,
        error: null,
      },
      {
        id: 2,
        project: 'agents',
        host: 'ci.example.com',
        format: 'json',
        disabledReason: null,
        failed: 0,
        open: 0,
        dueAt: null,
        attempts: 0,
        attemptedAt: NOW - 30_000,
        status: 200,
        error: null,
      },
    ],
    providers: [
      {
        ...{ provider: 'anthropic', attempts: 402, failedAttempts: 9, lastSuccessAt: NOW - 9_000 },
        ...{ lastFailureAt: NOW - 1_500_000, lastFailureStatus: 529, lastFailure: 'overloaded_error' },
        ...{ firstByteMs: 640, failovers: [], blocks: [] },
      },
      {
        ...{ provider: 'openai', attempts: 778, failedAttempts: 0, lastSuccessAt: NOW - 2_000 },
        ...{ lastFailureAt: null, lastFailureStatus: null, lastFailure: null },
        ...{ firstByteMs: 410, failovers: [], blocks: [] },
      },
    ],
    trends: [
      {
        provider: 'anthropic',
        firstByteMs: [600, 620, 640, null, 700, 900, 1_200, 800, 640, 640, 620, 640],
        tokensPerSecond: [60, 58, 61, null, 50, 40, 31, 44, 58, 60, 61, 62],
        cachedShare: [0.2, 0.5, 0.8, null, 0.8, 0.9, 0.9, 0.1, 0.4, 0.7, 0.8, 0.84],
      },
      {
        provider: 'openai',
        firstByteMs: [400, 410, 420, 400, 390, 400, 410, 420, 430, 410, 400, 410],
        tokensPerSecond: Array.from({ length: 12 }, (_, i) => 80 + i),
        cachedShare: Array.from({ length: 12 }, () => 0),
      },
    ],
    projects: [
      { id: 1, name: 'agents', paused: false },
      { id: 2, name: 'ci', paused: false },
      { id: 3, name: 'lab', paused: true },
      { id: 4, name: 'team-web', paused: false },
    ],
    keys: [
      { id: 1, project: 'ci', hint: 'abcd', label: 'runner', admin: false },
      { id: 2, project: 'agents', hint: 'wxyz', label: null, admin: true },
    ],
  };
}

/** The windows of two plans. */
export function planWindows(): DashboardReading['limits'] {
  const at = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();
  const windows = [
    { window: '5h', used: 0.62, resets_at: at(238), full_at: '2026-11-20T15:40:00.000Z' },
    { window: '7d', model: 'opus', used: 0.31, resets_at: at(3_005) },
    {
      service: 'chatgpt' as const,
      login: 'chatgpt-f00',
      window: '5h',
      used: 1,
      resets_at: at(59),
      full_at: at(0),
    },
  ];
  return windows.map((each) => ({
    ...{ object: 'limit_window', login: 'claude-abc', service: 'anthropic', model: null, full_at: null },
    ...{ status: 'allowed', updated_at: at(-1), last_hour: [] },
    ...each,
  }));
}

export function sampleRequest(fields: Partial<LoggedRequest> = {}): RequestView {
  const request: LoggedRequest = {
    id: requestIdAt(NOW - 2_000),
    timeMs: NOW - 2_000,
    project: 'team-web',
    keyHint: 'abcd',
    endpoint: 'chat/completions',
    provider: 'openai',
    model: 'gpt-4.1-mini',
    askedModel: 'fast',
    status: 200,
    outcome: 'ok',
    flags: ['stream'],
    inputTokens: 1_234,
    cachedInputTokens: 1_000,
    cacheWriteTokens: 0,
    outputTokens: 456,
    reasoningTokens: 64,
    savedTokens: 120,
    requestBytes: 5_120,
    costNanoUsd: 1_200_000,
    savedNanoUsd: 48_000,
    holdNanoUsd: 10_000_000,
    durationMs: 2_812,
    firstByteMs: 532,
    process: 'node agent.mjs',
    repo: '/home/ann/shop',
    agent: '',
    agentVersion: '',
    session: '',
    labels: '',
    source: 'gw',
    heldAt: NOW - 1_998,
    settledAt: NOW,
    timings: { body_ms: 1, compressed_ms: 2, held_ms: 3, sent_ms: 4 },
    upstreamMessageId: null,
    detail: {},
    ...fields,
  };
  return requestResponse(request) as unknown as RequestView;
}

export const RUNNING: DaemonView = {
  kind: 'running',
  address: 'localhost:4747',
  pid: 8_123,
  startedAt: NOW - 8_040_000,
};

/** The state of a dashboard that shows the sample in a terminal of a size. */
export function sampleState(columns: number, rows: number, data = sampleData()): State {
  const start = initialState({ size: { columns, rows }, readonly: false, now: NOW });
  return [
    { type: 'data', data } as const,
    {
      type: 'daemon',
      daemon: RUNNING,
      now: NOW,
    } as const,
    { type: 'detail', detail: sampleRequest() } as const,
  ].reduce(receive, start);
}

/** The team of which this gateway is a member. */
export function sampleTeam(fields: Partial<TeamView> = {}): TeamView {
  const budget = {
    ...standingOf('default', { posted: 3_200_000_000, capNanoUsd: 50_000_000_000 }),
    ...{
      id: '@team/daily',
      team: true,
      granted_usd: 4.5,
      team_left_usd: 31.25,
      spent_usd: 18.75,
      cap_usd: 50,
    },
  };
  const here = { room_usd: 1.3, spent_here_usd: 3.2, short: false, gateways: 3 };
  return {
    ...{ object: 'team', name: 'acme', gateway_id: 3, gateway: 'laptop', timezone: 'UTC', failure: null },
    joined_at: new Date(NOW - 86_400_000).toISOString(),
    synced_at: new Date(NOW - 4_000).toISOString(),
    ...{ unreachable_since: null, frozen: false, courier: false, clock_offset_ms: 3, leaving: false },
    budgets: [
      { ...budget, ...here },
      { ...budget, ...here, id: 'web@team/monthly' },
    ],
    ...fields,
  };
}

/** Today's usage of the team, by gateway or model. */
export function sampleTeamUsage(groupBy: TeamUsageView['group_by']): TeamUsageView {
  const names =
    groupBy === 'gateway'
      ? ['ci-7', 'laptop', 'anns-machine', 'office', 'bobs-machine']
      : ['openai/gpt-4.1', 'anthropic/claude-opus-4-5', 'openai/gpt-4.1-mini'];
  const row = (cost: number, requests: number) => ({
    ...{ requests, blocked_requests: 0, failed_requests: 0, unpriced_requests: 0, input_tokens: 0 },
    ...{
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      reasoning_tokens: 0,
      saved_tokens: 0,
    },
    ...{ cost_usd: cost, saved_usd: 0, cost_nano_usd: cost * 1e9, saved_nano_usd: 0 },
  });
  const data = names.map((name, i) => ({
    [groupBy]: name,
    ...(groupBy === 'gateway' ? { member: i % 2 === 0 ? 'ann' : 'bob' } : {}),
    ...row(9 - i, 120 - i),
  }));
  const days = { from: '2026-11-20', to: '2026-11-20', timezone: 'UTC' };
  return {
    object: 'team_usage',
    team: 'acme',
    scope: 'team',
    ...days,
    group_by: groupBy,
    data,
    total: row(1, 1),
  };
}
