import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { Settings } from '../../config/settings.ts';
import { GwError, orElse } from '../../errors.ts';
import { formatRequestId } from '../../ids.ts';
import { usdFields, usdNumber } from '../../money.ts';
import type { Reader } from '../../operations/registry.ts';
import { depthOf, type Palette, paletteOf } from '../../terminal/palette.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Source } from '../../tui/source.ts';
import type { DaemonView, View } from '../../tui/state/state.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson, screenOf } from '../context.ts';
import { checkConnectedAgents, connectedAgentJson } from '../coverage/connected-agent.ts';
import { addressOf, type DaemonState, originOf } from '../daemon/find.ts';
import { Exit } from '../exit.ts';
import { daemonState, remoteOf } from '../remote/connection.ts';
import { readSettings } from '../settings.ts';
import { withGateway } from '../with-gateway.ts';
import { daemonJson } from './status.ts';

/** Height of a snapshot that is not printed on a terminal. */
const SNAPSHOT_ROWS = 41;

export const dashboard: SetUp = (command, context) =>
  command
    .option('--once', 'print it once and exit (the default when stdout is not a terminal)')
    .option('--json', 'print its data as JSON')
    .option('--readonly', 'disable the keys that change anything')
    .option('--ascii', 'no block characters')
    .action(async (options) => {
      // Loading Ink takes most of the time to the first frame, so it starts before the database opens.
      const painter = options.json ? undefined : loadPainter(context, options.once);
      const { settings } = readSettings(context);
      const origin = remoteOf(context)?.gateway.url ?? originOf(addressOf(settings), settings);
      const baseUrl = `${origin}/v1`;
      await withGateway(context, async (gateway) => {
        if (painter) await show(context, { gateway, baseUrl, painter, settings, ...options });
        else sayJson(context, await jsonOf(context, gateway));
      });
    });

type Painter =
  | { kind: 'screen'; module: Promise<typeof import('../../tui/run.tsx')> }
  | { kind: 'text'; module: Promise<typeof import('../../tui/snapshot.ts')> };

function loadPainter({ env, stdout: output }: Context, once = false): Painter {
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
    ? { kind: 'text', module: import('../../tui/snapshot.ts') }
    : { kind: 'screen', module: import('../../tui/run.tsx') };
}

interface Resources {
  gateway: Reader;
  baseUrl: string;
  painter: Painter;
  settings: Settings;
  readonly?: boolean;
  ascii?: boolean;
}

async function show(context: Context, resources: Resources): Promise<void> {
  const { gateway, baseUrl, painter, readonly = false } = resources;
  const { symbols, columns } = screenOf(context, resources);
  const { timezone } = await gateway.calendar();
  const palette = await paletteFor(context, resources);
  const look = { palette, symbols, times: createTimeFormat(timezone), timezone, gw: context.gw };
  const { clock, version } = context;
  const source = await sourceOf(context, gateway);
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
  const mouse = resources.settings['dashboard.mouse'] === 'on';
  const view = await rememberedView(context);
  const code = await runDashboard({ ...shared, stdin, stdout, readonly, mouse, view });
  if (code !== 0) throw new Exit(code);
}

/** The colours of the settings, for the terminal's background if it says which it has. */
async function paletteFor(
  { env, stdout, clock }: Context,
  { painter, settings }: Resources,
): Promise<Palette> {
  const depth = depthOf(stdout.isTTY === true, env);
  const theme = settings['dashboard.theme'];
  const set = settings['dashboard.background'];
  if (set !== 'auto') return paletteOf({ depth, theme, background: set });
  // The terminal's own sixteen colours are made for its background.
  if (painter.kind === 'text' || depth === 0 || depth === 16) return paletteOf({ depth, theme });
  const { askBackground } = await import('../../tui/ask-background.ts');
  const { stdin } = process;
  const background = await askBackground({ stdin, stdout: process.stdout, clock });
  return paletteOf({ depth, theme, background: background ?? 'dark' });
}

async function sourceOf(context: Context, reader: Reader): Promise<Source> {
  const { budgetDrill, perform } = await import('../../tui/source.ts');
  const feed = await reader.dashboard();
  return {
    ...feed,
    request: (id) => reader.request({ id: formatRequestId(id) }),
    async agents() {
      const agents = await checkConnectedAgents(context, reader);
      return agents.map(({ agent, bypassed }) => ({ name: agent.name, bypassed: bypassed ?? 0 }));
    },
    team: () => reader.team(),
    teamUsage: ({ groupBy, ...days }) => reader.teamUsage({ ...days, group_by: groupBy }),
    ...budgetDrill(reader, () => context.clock.now()),
    daemon: async () => viewOf(await daemonState(context).catch(stateOf)),
    remember: (view) => rememberView(context, view),
    async perform(command) {
      if (command.kind !== 'run_gw') return perform(reader, command);
      const { runGw } = await import('../run-gw.ts');
      const columns = (process.stdout.columns || 80) - 2;
      return { message: `gw ${command.args.join(' ')}`, output: await runGw(context, command.args, columns) };
    },
  };
}

/** What an earlier run remembered; nothing if the file is gone or spoilt. */
async function rememberedView({ paths }: Context): Promise<Partial<View>> {
  const { parseView } = await import('../../tui/state/view.ts');
  return orElse(() => parseView(JSON.parse(readFileSync(paths.dashboard, 'utf8'))), {});
}

/** Written as it changes: a terminal that is closed leaves no time to. A full disk costs the memory alone. */
function rememberView({ paths }: Context, view: View): void {
  try {
    writeFileSync(paths.dashboard, JSON.stringify(view), { mode: 0o600 });
  } catch {}
}

/** A remote gw that does not answer is shown as stopped. */
function stateOf(error: unknown): DaemonState {
  if (error instanceof GwError) return { kind: 'stopped' };
  throw error;
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
async function jsonOf(context: Context, reader: Reader): Promise<Record<string, unknown>> {
  const feed = await reader.dashboard();
  const filter = { kind: 'all', text: '' } as const;
  const data = await feed.read({ window: 'day', filter, now: context.clock.now() });
  if (!data) throw new Error('the first reading has no data');
  const { totals } = data;
  return {
    ...daemonJson(await daemonState(context)),
    timezone: (await reader.calendar()).timezone,
    agents: (await checkConnectedAgents(context, reader)).map(connectedAgentJson),
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
    budgets: data.budgets,
    requests: await reader.requests({ limit: 50 }),
    models: data.models.map(({ provider, model, requests, costNanoUsd }) => ({
      provider,
      model,
      requests,
      ...usdFields('cost', costNanoUsd),
    })),
    callers: data.callers.map(({ process, repo, requests, costNanoUsd }) => ({
      process: process || null,
      repo: repo || null,
      requests,
      ...usdFields('cost', costNanoUsd),
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
