import { formatUsd } from '../../money.ts';
import { healthOf } from '../../operations/provider-views.ts';
import type { StatusView } from '../../operations/schemas/status.ts';
import { forecastText, grantedText, mark, shareOf } from '../../terminal/budget-words.ts';
import { pasteable, wrapMessage } from '../../terminal/command-names.ts';
import { windowsText } from '../../terminal/limit-words.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { healthText, isTroubled } from '../../terminal/request-words.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { pad, wrap } from '../../terminal/text.ts';
import { createTimeFormat, duration } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, sayJson, screenOf, tell } from '../context.ts';
import { bypassText, checkConnectedAgents, connectedAgentJson } from '../coverage/connected-agent.ts';
import type { ConnectedAgent } from '../coverage/find-connected.ts';
import type { DaemonState } from '../daemon/find.ts';
import { EXIT, Exit } from '../exit.ts';
import { daemonState } from '../remote/connection.ts';
import { withGateway } from '../with-gateway.ts';

export const status: SetUp = (command, context) =>
  command
    .option(...AS_JSON)
    .addHelpText('after', '\nExits with code 3 if gw is not running.')
    .action(async ({ json }) => {
      const current = await readStatus(context);
      if (json) sayJson(context, statusJson(current, context.version));
      else show(context, current);
      if (current.state.kind !== 'running') throw new Exit(EXIT.daemonDown);
    });

/** The output of `gw` without arguments: status and next steps. */
export async function overview(context: Context): Promise<void> {
  show(context, await readStatus(context));
}

function show(context: Context, current: Status): void {
  const terminal = screenOf(context);
  tell(context, statusLines(current, { ...context, ...terminal }).join('\n'));
}

const LABEL = 10;
const MOST_RUNAWAYS = 5;

interface StatusLook extends Pick<Terminal, 'palette' | 'columns'> {
  version: string;
  /** How to type `gw` in this directory. */
  gw: string;
}

/** The status in five lines, or more on a narrow terminal or where agents are connected. */
export function statusLines(status: Status, { version, gw, palette, columns }: StatusLook): string[] {
  const room = columns - LABEL - 1;
  const below = `\n${' '.repeat(LABEL + 1)}`;
  const line = (label: string, text: string) => `${palette.bold(pad(label, LABEL))} ${text}`;
  const running = status.state.kind === 'running';
  return [
    line(`gw ${version}`, running ? daemonText(status) : palette.warn(daemonText(status))),
    line('today', todayText(status)),
    ...weekLine(status).map((text) => line('optimizer', wrap(text, room).join(below))),
    line('budgets', wrap(budgetsText(status), room).join(below)),
    ...limitLines(status).map((text, i) => line(i === 0 ? 'limits' : '', wrap(text, room).join(below))),
    ...runawayLines(status).map((text, i) => line(i === 0 ? 'runaways' : '', wrap(text, room).join(below))),
    ...(status.paused_projects.length === 0
      ? []
      : [line('paused', wrap(pausedText(status), room).join(below))]),
    line('providers', wrap(providersText(status), room).join(below)),
    ...healthLines(status).map((text) => line('', wrap(pasteable(text, gw), room).join(below))),
    ...agentLines(status).map((text, i) => line(i === 0 ? 'agents' : '', wrap(text, room).join(below))),
    line('next', wrapMessage(pasteable(nextText(status), gw), room, gw).replaceAll('\n', below)),
  ];
}

function daemonText({ state, now }: Status): string {
  switch (state.kind) {
    case 'running': {
      const { daemon } = state;
      return `running on ${daemon.origin}/v1, pid ${daemon.pid}, up ${duration(now - Date.parse(daemon.started_at))}`;
    }
    case 'silent':
      return `pid ${state.pid} does not answer yet`;
    case 'stopped':
      return 'stopped';
  }
}

function todayText({ today, timezone }: Status): string {
  const parts = [
    `${formatUsd(today.cost_nano_usd)} in ${plural(today.requests, 'request')}`,
    today.unpriced_requests > 0 ? `${count(today.unpriced_requests)} unpriced` : '',
    today.blocked_requests > 0 ? `${count(today.blocked_requests)} blocked` : '',
    today.failed_requests > 0 ? `${count(today.failed_requests)} failed` : '',
    today.saved_nano_usd > 0 ? `saved ${formatUsd(today.saved_nano_usd)}` : '',
  ];
  return `${parts.filter(Boolean).join(', ')} (${timezone})`;
}

/** Savings of compression in the last 7 days; empty if there were none. */
function weekLine({ optimizer_week: week }: Status): string[] {
  if (!week || week.saved_tokens === 0) return [];
  const left = `${plural(week.left_requests, 'request')} left as ${week.left_requests === 1 ? 'it was' : 'they were'}`;
  return [
    `this week saved ${plural(week.saved_tokens, 'token')}, ${formatUsd(week.saved_nano_usd)}, ${left}`,
  ];
}

/** The budget closest to its cap, and the number of others. */
function budgetsText({ budgets, timezone, now }: Status): string {
  const [first, ...rest] = [...budgets].sort((a, b) => shareOf(b) - shareOf(a));
  if (!first) return 'none';
  const more = rest.length > 0 ? ` (and ${rest.length} more)` : '';
  const spent = `${percent(shareOf(first))}, ${formatUsd(first.spent_nano_usd)} of ${formatUsd(first.cap_nano_usd)}`;
  return `${mark(first).trim()} ${first.id} ${spent}${grantedText(first)}; ${forecastText(first, createTimeFormat(timezone), now)}${more}`.trimStart();
}

/** A line for each subscription whose windows are known. */
function limitLines({ limits = [], timezone, now }: Status): string[] {
  const logins = [...new Set(limits.map(({ login }) => login))];
  const times = createTimeFormat(timezone);
  return logins.map((login) => {
    const windows = limits.filter((each) => each.login === login);
    const name = logins.length > 1 ? login : (windows[0]?.service ?? '');
    return `${name} ${windowsText(windows, times, now)}`;
  });
}

/** A line for each session that is taken for a runaway. */
function runawayLines({ runaways = [], timezone, now }: Status): string[] {
  const times = createTimeFormat(timezone);
  return runaways
    .slice(0, MOST_RUNAWAYS)
    .map(
      ({ session, agent, project_id, message, found_at }) =>
        `! ${agent ?? 'session'} ${session} of ${project_id}: ${message} (${times.moment(Date.parse(found_at), now)})`,
    );
}

function pausedText({ paused_projects: names }: Status): string {
  const [only] = names;
  return `${names.join(', ')}; to resume: gw projects resume ${names.length === 1 ? only : '--all'}`;
}

function providersText({ providers, provider_health: health, problems }: Status): string {
  const sources = new Map(health.map(({ provider, source }) => [provider, source]));
  const shown = providers.map((name) =>
    sources.get(name) === 'environment' ? `${name} (from the environment)` : name,
  );
  const names = shown.length > 0 ? shown.join(', ') : 'only the built-in sandbox';
  return problems.length > 0 ? `${names}; ${plural(problems.length, 'problem')}: gw doctor` : names;
}

/** How each provider that was called within the last hour has answered, or why it gets no requests. */
function healthLines({ provider_health: health, timezone, now }: Status): string[] {
  const times = createTimeFormat(timezone);
  return health.map(healthOf).flatMap((each) => {
    if (each.attempts === 0 && each.blocks.length === 0) return [];
    return [`${isTroubled(each) ? '! ' : ''}${each.provider}: ${healthText(each, times, now)}`];
  });
}

/** The connected agents, and a warning for each that went around gw. */
function agentLines({ agents, timezone, now }: Status): string[] {
  if (agents.length === 0) return [];
  const times = createTimeFormat(timezone);
  const names = agents.map(({ agent, state }) =>
    state === 'changed' ? `${agent.name} (changed)` : agent.name,
  );
  return [`${names.join(', ')} connected`, ...agents.flatMap((each) => bypassText(each, times, now) ?? [])];
}

function nextText({ state, providers, budgets }: Status): string {
  if (state.kind === 'stopped') return 'gw start';
  if (state.kind === 'silent') return 'gw logs';
  const steps = ['eval "$(gw env)"'];
  if (providers.length === 0) steps.push('gw providers add openai');
  else if (budgets.length === 0) steps.push('gw budget set 5');
  return [...steps, 'gw usage', 'gw --help'].join('   ');
}

/** The JSON form of the status. */
export function statusJson(
  { state, now, agents, ...status }: Status,
  version: string,
): Record<string, unknown> {
  return { version, ...daemonJson(state), ...status, agents: agents.map(connectedAgentJson) };
}

/** The JSON form of the daemon's state. */
export function daemonJson(state: DaemonState): Record<string, unknown> {
  if (state.kind !== 'running') return { status: state.kind };
  const { origin, pid, port, instance_id, started_at, version } = state.daemon;
  return {
    status: 'running',
    base_url: `${origin}/v1`,
    pid,
    port,
    instance_id,
    started_at,
    daemon_version: version,
  };
}

/** State of the daemon, today's usage, budgets, providers and connected agents. */
export interface Status extends StatusView {
  agents: ConnectedAgent[];
  /** Names of the projects whose requests are refused until they are resumed. */
  paused_projects: string[];
  state: DaemonState;
  now: number;
}

export async function readStatus(context: Context): Promise<Status> {
  const now = context.clock.now();
  const state = await daemonState(context);
  return withGateway(context, async (reader) => ({
    ...(await reader.status()),
    agents: await checkConnectedAgents(context, reader),
    paused_projects: (await reader.projects())
      .filter(({ paused_at }) => paused_at !== null)
      .map(({ project_id }) => project_id),
    state,
    now,
  }));
}
