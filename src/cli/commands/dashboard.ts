import { setFlagsFromString } from 'node:v8';
import type { Calendar } from '../../calendar.ts';
import { usdNumber } from '../../money.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import { createDashboardReader } from '../../store/dashboard/reader.ts';
import { type Db, openDatabase } from '../../store/database/open.ts';
import { getRequest, listRequests } from '../../store/requests/request-log.ts';
import { requestResponse } from '../../store/requests/request-response.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Source } from '../../tui/source.ts';
import type { DaemonView } from '../../tui/state/daemon-view.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson } from '../context.ts';
import { addressOf, type DaemonState, findDaemon, originOf } from '../daemon/find.ts';
import { Exit } from '../exit.ts';
import { settingsAndCalendar } from '../settings.ts';
import { daemonJson } from '../status/view.ts';
import { withStore } from '../with-store.ts';

interface Options {
  once?: boolean;
  json?: boolean;
  readonly?: boolean;
  ascii?: boolean;
}

/** Height of a snapshot that is not printed on a terminal. */
const SNAPSHOT_ROWS = 41;

export const dashboard: SetUp = (command, context) => {
  command
    .option('--once', 'print it once and exit (the default when stdout is not a terminal)')
    .option('--json', 'print its data as JSON')
    .option('--readonly', 'disable the keys that change anything')
    .option('--ascii', 'no block characters')
    .action((options: Options) => run(context, options));
};

async function run(context: Context, options: Options): Promise<void> {
  // Loading Ink takes most of the time to the first frame, so it starts before the database opens.
  const painter = options.json ? undefined : loadPainter(context, options);
  const { settings, calendar } = settingsAndCalendar(context);
  // Creates or migrates the database; everything after this only reads.
  await withStore(context, async () => undefined);
  const db = await openDatabase(context.paths.database, { readonly: true });
  try {
    const baseUrl = `${originOf(addressOf(settings), settings)}/v1`;
    if (painter) await show(context, options, { db, calendar, baseUrl, painter });
    else sayJson(context, await jsonOf(context, db, calendar));
  } finally {
    db.close();
  }
}

/** Renders the dashboard on the screen or as text. */
type Painter =
  | { kind: 'screen'; module: Promise<typeof import('../../tui/run.tsx')> }
  | { kind: 'text'; module: Promise<typeof import('../../tui/snapshot.tsx')> };

function loadPainter({ env, stdout: output }: Context, { once }: Options): Painter {
  // React's development build needs twice the time per frame.
  process.env.NODE_ENV ??= 'production';
  const { stdin, stdout } = process;
  // A screen needs a terminal of known size.
  const isScreen =
    env.TERM !== 'dumb' &&
    output === stdout &&
    stdout.isTTY &&
    stdin.isTTY &&
    stdout.columns > 0 &&
    stdout.rows > 0;
  return once || !isScreen
    ? { kind: 'text', module: import('../../tui/snapshot.tsx') }
    : { kind: 'screen', module: import('../../tui/run.tsx') };
}

interface Resources {
  db: Db;
  calendar: Calendar;
  baseUrl: string;
  painter: Painter;
}

async function show(context: Context, options: Options, resources: Resources): Promise<void> {
  const { db, calendar, baseUrl, painter } = resources;
  const { palette, symbols, columns } = terminalOf(context.stdout, context.env, options);
  const times = createTimeFormat(calendar.timezone);
  const look = { palette, symbols, times, timezone: calendar.timezone, gw: context.gw };
  const { clock, version } = context;
  const source = await sourceOf(context, db, calendar);
  const shared = { source, clock, look, version, baseUrl };
  if (painter.kind === 'text') {
    const { snapshot } = await painter.module;
    say(context, await snapshot({ ...shared, size: { columns, rows: SNAPSHOT_ROWS } }));
    return;
  }
  // Each frame leaves thousands of small objects. Letting the heap grow for them took 40 MB more (measured).
  setFlagsFromString('--semi-space-growth-factor=1');
  const { runDashboard } = await painter.module;
  const { stdin, stdout } = process;
  const code = await runDashboard({ ...shared, stdin, stdout, readonly: options.readonly === true });
  if (code !== 0) throw new Exit(code);
}

async function sourceOf(context: Context, db: Db, calendar: Calendar): Promise<Source> {
  const { createActions } = await import('../../tui/actions.ts');
  const reader = createDashboardReader(db, calendar);
  return {
    ...reader,
    request: (id) => getRequest(db, id),
    daemon: async () => viewOf(await findDaemon(context)),
    perform: createActions({ withStore: (work) => withStore(context, work), calendar, clock: context.clock }),
  };
}

function viewOf(state: DaemonState): DaemonView {
  if (state.kind !== 'running') return state;
  const { origin, pid, started_at } = state.daemon;
  return {
    kind: 'running',
    address: origin.replace(/^https?:\/\//, ''),
    pid,
    startedAt: Date.parse(started_at),
  };
}

/** The data of the dashboard. Requests, budgets and the daemon have the shape of their own commands. */
async function jsonOf(context: Context, db: Db, calendar: Calendar): Promise<Record<string, unknown>> {
  const now = context.clock.now();
  const filter = { kind: 'all', text: '' } as const;
  const data = createDashboardReader(db, calendar).read({ window: 'day', filter, now });
  const { totals } = data;
  return {
    ...daemonJson(await findDaemon(context)),
    timezone: calendar.timezone,
    from: new Date(data.span.start).toISOString(),
    to: new Date(data.span.end).toISOString(),
    total: {
      requests: totals.requests,
      blocked_requests: totals.blockedRequests,
      failed_requests: totals.failedRequests,
      unpriced_requests: totals.unpricedRequests,
      saved_tokens: totals.savedTokens,
      cost_usd: usdNumber(totals.costNanoUsd),
      saved_usd: usdNumber(totals.savedNanoUsd),
      cost_nano_usd: totals.costNanoUsd,
      saved_nano_usd: totals.savedNanoUsd,
    },
    p95_ms: data.p95Ms,
    hourly_cost_usd: data.series.map((cost) => (cost === undefined ? null : usdNumber(cost))),
    budgets: data.budgets.map((standing) => budgetResponse(standing, now, { nano: true })),
    requests: (await listRequests(db, { limit: 50 })).map((request) =>
      requestResponse(request, { nano: true }),
    ),
    models: data.models.map(({ provider, model, requests, costNanoUsd }) => ({
      provider,
      model,
      requests,
      cost_usd: usdNumber(costNanoUsd),
      cost_nano_usd: costNanoUsd,
    })),
    callers: data.callers.map(({ process, repo, requests, costNanoUsd }) => ({
      process: process || null,
      repo: repo || null,
      requests,
      cost_usd: usdNumber(costNanoUsd),
      cost_nano_usd: costNanoUsd,
    })),
    blocked: data.blocked.map(({ budget, count, firstAt, lastAt, model }) => ({
      budget_id: budget,
      requests: count,
      first_at: new Date(firstAt).toISOString(),
      last_at: new Date(lastAt).toISOString(),
      last_model: model,
    })),
    webhooks: data.webhooks.map((webhook) => ({
      id: `wh_${webhook.id}`,
      project_id: webhook.project,
      host: webhook.host,
      format: webhook.format,
      disabled_reason: webhook.disabledReason,
      failed_deliveries: webhook.failed,
      open_deliveries: webhook.open,
      last_attempt_at: webhook.attemptedAt === null ? null : new Date(webhook.attemptedAt).toISOString(),
      response_status: webhook.status,
      error: webhook.error,
    })),
  };
}
