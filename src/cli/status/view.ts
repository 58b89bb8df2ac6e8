import { formatUsd, usdNumber } from '../../money.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import { budgetName } from '../../store/budgets/budgets.ts';
import type { UsageFigures } from '../../store/reports/usage-report.ts';
import { forecastText, mark, shareOf } from '../../terminal/budget-words.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { pasteable } from '../../terminal/pasteable.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { pad, wrap } from '../../terminal/text.ts';
import { createTimeFormat, duration } from '../../terminal/time.ts';
import { wrapMessage } from '../../terminal/wrap-message.ts';
import type { DaemonState } from '../daemon/find.ts';
import type { Status } from './read.ts';

const LABEL = 10;

interface StatusLook extends Pick<Terminal, 'palette' | 'columns'> {
  version: string;
  /** How to type `gw` in this directory. */
  gw: string;
}

/** The status in five lines, or more on a narrow terminal. */
export function statusLines(status: Status, { version, gw, palette, columns }: StatusLook): string[] {
  const room = columns - LABEL - 1;
  const below = `\n${' '.repeat(LABEL + 1)}`;
  const line = (label: string, text: string) => `${palette.bold(pad(label, LABEL))} ${text}`;
  const running = status.state.kind === 'running';
  return [
    line(`gw ${version}`, running ? daemonText(status) : palette.warn(daemonText(status))),
    line('today', todayText(status.today, status.timezone)),
    line('budgets', wrap(budgetsText(status), room).join(below)),
    line('providers', providersText(status)),
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

function todayText(today: UsageFigures, timezone: string): string {
  const parts = [
    `${formatUsd(today.costNanoUsd)} in ${plural(today.requests, 'request')}`,
    today.unpricedRequests > 0 ? `${count(today.unpricedRequests)} unpriced` : '',
    today.blockedRequests > 0 ? `${count(today.blockedRequests)} blocked` : '',
    today.failedRequests > 0 ? `${count(today.failedRequests)} failed` : '',
    today.savedNanoUsd > 0 ? `saved ${formatUsd(today.savedNanoUsd)}` : '',
  ];
  return `${parts.filter(Boolean).join(', ')} (${timezone})`;
}

/** The budget closest to its cap, and the number of others. */
function budgetsText({ standings, timezone, now }: Status): string {
  const [first, ...rest] = [...standings].sort((a, b) => shareOf(b) - shareOf(a));
  if (!first) return 'none';
  const { budget, posted } = first;
  const more = rest.length > 0 ? ` (and ${rest.length} more)` : '';
  const spent = `${percent(shareOf(first))}, ${formatUsd(posted)} of ${formatUsd(budget.capNanoUsd)}`;
  return `${mark(first).trim()} ${budgetName(budget)} ${spent}; ${forecastText(first, createTimeFormat(timezone), now)}${more}`.trimStart();
}

function providersText({ providers, problems }: Status): string {
  const names = providers.length > 0 ? providers.join(', ') : 'only the built-in sandbox';
  return problems.length > 0 ? `${names}; ${plural(problems.length, 'problem')}: gw doctor` : names;
}

function nextText({ state, providers, standings }: Status): string {
  if (state.kind === 'stopped') return 'gw start';
  if (state.kind === 'silent') return 'gw logs';
  const steps = ['eval "$(gw env)"'];
  if (providers.length === 0) steps.push('gw providers add openai');
  else if (standings.length === 0) steps.push('gw budget set 5');
  return [...steps, 'gw usage', 'gw --help'].join('   ');
}

/** The JSON form of the status. */
export function statusJson(status: Status, version: string): Record<string, unknown> {
  const { today, standings, now, providers, problems, timezone } = status;
  return {
    version,
    ...daemonJson(status.state),
    timezone,
    today: {
      requests: today.requests,
      blocked_requests: today.blockedRequests,
      failed_requests: today.failedRequests,
      unpriced_requests: today.unpricedRequests,
      cost_usd: usdNumber(today.costNanoUsd),
      cost_nano_usd: today.costNanoUsd,
      saved_usd: usdNumber(today.savedNanoUsd),
      saved_nano_usd: today.savedNanoUsd,
    },
    budgets: standings.map((standing) => budgetResponse(standing, now, { nano: true })),
    providers,
    problems,
  };
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
