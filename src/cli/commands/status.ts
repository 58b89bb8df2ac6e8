import { formatUsd } from '../../money.ts';
import { healthOf } from '../../operations/provider-views.ts';
import type { StatusView } from '../../operations/schemas/status.ts';
import { budgetLabel } from '../../store/ledger/terms.ts';
import { forecastText, forecastWords, grantedText, mark, shareOf } from '../../terminal/budget-words.ts';
import { pasteable } from '../../terminal/command-names.ts';
import { windowsText } from '../../terminal/limit-words.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { healthParts, isTroubled } from '../../terminal/request-words.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, pad, shortenMiddle, widthOf } from '../../terminal/text.ts';
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

interface StatusLook extends Pick<Terminal, 'palette' | 'textColumns'> {
  version: string;
  /** How to type `gw` in this directory. */
  gw: string;
}

interface Line {
  label: string;
  /** As many as fit are shown, each by the longest of its wordings that fits; the first is shortened if it must be. */
  parts: (string | readonly string[])[];
  /** Always shown, such as the command that shows what has no room. */
  last?: string | undefined;
  separator?: string;
  /** With more than eight lines, those of the highest rank are left out. */
  rank: number;
}

const MOST_LINES = 8;

/** The status in at most eight lines. */
export function statusLines(status: Status, { version, gw, palette, textColumns }: StatusLook): string[] {
  const lines = linesOf(status, version);
  const [last = 0] = lines
    .map(({ rank }) => rank)
    .sort((a, b) => a - b)
    .slice(MOST_LINES - 1);
  const isDown = status.state.kind !== 'running';
  return lines
    .filter(({ rank }) => lines.length <= MOST_LINES || rank <= last)
    .map((line, i) => {
      const text = fitted(line, textColumns - LABEL - 1, gw);
      return `${palette.bold(pad(line.label, LABEL))} ${isDown && i === 0 ? palette.warn(text) : text}`;
    });
}

function fitted({ parts, last = '', separator = ', ' }: Line, room: number, gw: string): string {
  const worded = parts.map((part) => [part].flat().map((text) => clean(pasteable(text, gw))));
  const [[first = ''] = [], ...rest] = worded;
  // Without room for both, the command alone.
  const ends =
    last === '' ? [''] : [last, last.replace(/^[^:]*: /, '')].map((text) => `; ${pasteable(text, gw)}`);
  const end = ends.find((each) => widthOf(first + each) <= room) ?? ends.at(-1) ?? '';
  const left = room - widthOf(end);
  const text = rest.reduce(
    (shown, wordings) => {
      const longer = wordings.map((wording) => `${shown}${separator}${wording}`);
      return longer.find((each) => widthOf(each) <= left) ?? shown;
    },
    shortenMiddle(first, Math.max(left, Math.min(room, LABEL))),
  );
  return text + end;
}

/** Ranks differ, so that there is one for each place. */
function linesOf(status: Status, version: string): Line[] {
  const lines: (Line | undefined)[] = [
    { rank: 0, label: `gw ${version}`, parts: [daemonText(status)] },
    { rank: 1, label: 'today', parts: todayParts(status) },
    weekLine(status),
    { rank: 3, label: 'budgets', ...budgetParts(status) },
    limitLine(status),
    runawayLine(status),
    pauseLine(status),
    { rank: 9, label: 'providers', ...providerParts(status) },
    healthLine(status),
    agentLine(status),
    { rank: 2, label: 'next', parts: nextSteps(status), separator: '   ' },
  ];
  return lines.filter((line) => line !== undefined);
}

const more = (count: number, command: string) => (count > 0 ? `${count} more: ${command}` : undefined);

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

function todayParts({ today, timezone }: Status): string[] {
  const parts = [
    `${formatUsd(today.cost_nano_usd)} in ${plural(today.requests, 'request')}`,
    today.unpriced_requests > 0 ? `${count(today.unpriced_requests)} unpriced` : '',
    today.blocked_requests > 0 ? `${count(today.blocked_requests)} blocked` : '',
    today.failed_requests > 0 ? `${count(today.failed_requests)} failed` : '',
    today.saved_nano_usd > 0 ? `saved ${formatUsd(today.saved_nano_usd)}` : '',
    timezone,
  ];
  return parts.filter(Boolean);
}

/** Savings of compression in the last 7 days. */
function weekLine({ optimizer_week: week }: Status): Line | undefined {
  if (!week || week.saved_tokens === 0) return undefined;
  const left = `${plural(week.left_requests, 'request')} left as ${week.left_requests === 1 ? 'it was' : 'they were'}`;
  const saved = `this week saved ${plural(week.saved_tokens, 'token')}`;
  return { rank: 10, label: 'optimizer', parts: [saved, formatUsd(week.saved_nano_usd), left] };
}

/** The budget closest to its cap, and the number of others. */
function budgetParts({ budgets, timezone, now }: Status): Pick<Line, 'parts' | 'last'> {
  const [first, ...rest] = [...budgets].sort((a, b) => shareOf(b) - shareOf(a));
  if (!first) return { parts: ['none'] };
  const full = rest.filter(({ exceeded }) => exceeded).length;
  const times = createTimeFormat(timezone);
  const name = `${mark(first)} ${budgetLabel(first.id)} ${percent(shareOf(first))}`.trim();
  const amounts = `${formatUsd(first.spent_nano_usd)} of ${formatUsd(first.cap_nano_usd)}${grantedText(first)}`;
  const words = forecastWords(first, times, now);
  const forecast = [forecastText(first, times, now), words.startsWith('until') ? `refuses ${words}` : words];
  // That requests are refused matters more than how much was spent.
  const parts = first.exceeded ? [name, forecast, amounts] : [name, amounts, forecast];
  const others = `${rest.length} more${full > 0 ? `, ${full} full` : ''}`;
  return { parts, last: rest.length > 0 ? `${others}: gw budget list` : undefined };
}

/** The subscription whose window is fullest. */
function limitLine({ limits = [], timezone, now }: Status): Line | undefined {
  const [fullest] = [...limits].sort((a, b) => b.used - a.used);
  if (!fullest) return undefined;
  const others = new Set(limits.map(({ login }) => login)).size - 1;
  const windows = limits.filter(({ login }) => login === fullest.login);
  const name = others > 0 ? fullest.login : fullest.service;
  return {
    ...{ rank: 8, label: 'limits' },
    parts: [`${name} ${windowsText(windows, createTimeFormat(timezone), now)}`],
    last: more(others, 'gw limits'),
  };
}

/** The session that was last taken for a runaway. */
function runawayLine({ runaways = [], timezone, now }: Status): Line | undefined {
  const [first, ...rest] = [...runaways].sort((a, b) => Date.parse(b.found_at) - Date.parse(a.found_at));
  if (!first) return undefined;
  const { session, agent, project_id, message, found_at } = first;
  const times = createTimeFormat(timezone);
  return {
    ...{ rank: 5, label: 'runaways' },
    parts: [
      `! ${agent ?? 'session'} ${session} of ${project_id}: ${message}`,
      times.moment(Date.parse(found_at), now),
    ],
    last: more(rest.length, 'gw sessions'),
  };
}

function pauseLine({ paused_projects: names }: Status): Line | undefined {
  if (names.length === 0) return undefined;
  const [only] = names;
  const last = `to resume: gw projects resume ${names.length === 1 ? only : '--all'}`;
  return { rank: 4, label: 'paused', parts: names, last };
}

function providerParts({
  providers,
  provider_health: health,
  problems,
}: Status): Pick<Line, 'parts' | 'last'> {
  const sources = new Map(health.map(({ provider, source }) => [provider, source]));
  const parts = providers.map((name) =>
    sources.get(name) === 'environment' ? `${name} (from the environment)` : name,
  );
  return {
    parts: parts.length > 0 ? parts : ['only the built-in sandbox'],
    last: problems.length > 0 ? `${plural(problems.length, 'problem')}: gw doctor` : undefined,
  };
}

/** The provider in most trouble, else how the one that was called has answered. */
function healthLine({ provider_health, timezone, now }: Status): Line | undefined {
  const all = provider_health
    .map(healthOf)
    .filter(({ attempts, blocks }) => attempts > 0 || blocks.length > 0)
    .sort((a, b) => Number(isTroubled(b)) - Number(isTroubled(a)) || b.failedAttempts - a.failedAttempts);
  const [first] = all;
  if (!first) return undefined;
  const isBad = isTroubled(first);
  const [what = '', ...rest] = healthParts(first, createTimeFormat(timezone), now);
  return {
    ...{ rank: isBad ? 6 : 11, label: '' },
    parts: [`${isBad ? '! ' : ''}${first.provider}: ${what}`, ...rest],
    last: more(all.length - 1, 'gw doctor'),
  };
}

/** The connected agents, or a warning of those that went around gw. */
function agentLine({ agents, timezone, now }: Status): Line | undefined {
  if (agents.length === 0) return undefined;
  const times = createTimeFormat(timezone);
  const [first, ...rest] = agents.flatMap((each) => bypassText(each, times, now) ?? []);
  if (first !== undefined)
    return { rank: 7, label: 'agents', parts: [first], last: more(rest.length, 'gw coverage') };
  const names = agents.map(({ agent, state }) =>
    state === 'changed' ? `${agent.name} (changed)` : agent.name,
  );
  return { rank: 12, label: 'agents', parts: [`${names.join(', ')} connected`] };
}

function nextSteps({ state, providers, budgets }: Status): string[] {
  if (state.kind === 'stopped') return ['gw start'];
  if (state.kind === 'silent') return ['gw logs'];
  const steps = ['eval "$(gw env)"'];
  if (providers.length === 0) steps.push('gw providers add openai');
  else if (budgets.length === 0) steps.push('gw budget set 5');
  return [...steps, 'gw usage', 'gw --help'];
}

/** The JSON form of the status. */
export function statusJson(
  { state, now, agents, ...status }: Status,
  version: string,
): Record<string, unknown> {
  return { version, ...daemonJson(state), ...status, agents: agents.map(connectedAgentJson) };
}

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
