import type { RunawayView } from '../../operations/schemas/status.ts';
import type { ProviderHealth } from '../../store/dashboard/provider-health.ts';
import { pasteable } from '../../terminal/command-names.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { plural } from '../../terminal/numbers.ts';
import { healthText, isTroubled } from '../../terminal/request-words.ts';
import { type Cell, lineOf } from '../../terminal/styled-lines.ts';
import { pad, widthOf } from '../../terminal/text.ts';
import { duration } from '../../terminal/time.ts';
import type { AgentView, DaemonView } from '../state/state.ts';

export interface HeaderProps {
  version: string;
  daemon: DaemonView;
  agents: readonly AgentView[];
  providers: readonly ProviderHealth[];
  runaways: readonly RunawayView[];
  /** When the daemon was last seen; null if never. */
  seenAt: number | null;
  now: number;
  paused: boolean;
  readonly: boolean;
  pausedProjects: readonly string[];
  problem: string | null;
  /** The refusals of the last minute; '' without any. */
  refusals: string;
  width: number;
  look: Look;
}

/** One line: the state and address of the daemon, and whether the display is live. */
export function drawHeader(props: HeaderProps): string {
  const { version, width, look, problem, refusals } = props;
  const { mark, parts } = problem === null ? stateOf(props) : { mark: MARKS.bad, parts: [problem] };
  if (refusals !== '' && mark !== MARKS.bad) parts.unshift(`${MARKS.bad} ${refusals}`);
  const name = width < 60 ? 'gw' : `gw ${version}`;
  const roomBeside = (right: string) => Math.max(8, width - widthOf(name) - widthOf(right) - 6);
  const [first = ''] = parts;
  const full = rightOf(props, pausedText(props));
  const right = widthOf(first) <= roomBeside(full) ? full : rightOf(props, '');
  const room = roomBeside(right);
  const text = parts.reduce((shown, part) =>
    widthOf(`${shown}  ${part}`) <= room ? `${shown}  ${part}` : shown,
  );
  // The path to gw is shown in full or not at all.
  const message = pasteable(text, look.gw);
  const cells: Cell[] = [
    { text: '', width: 0 },
    { text: name, width: widthOf(name), style: look.palette.bold },
    { text: '', width: 0 },
    { text: widthOf(message) <= room ? message : text, width: room, style: styleOf(mark, look) },
    { text: right, width: widthOf(right) },
  ];
  return refusals === ''
    ? lineOf(cells, look)
    : look.palette.alarm(pad(lineOf(cells.map(unstyled), look), width));
}

const unstyled = ({ text, width }: Cell): Cell => ({ text, width });

/** State of the daemon, most important part first. */
function stateOf({ daemon, agents, providers, runaways, seenAt, now, look, width }: HeaderProps): {
  mark: string;
  parts: string[];
} {
  switch (daemon.kind) {
    case 'unknown':
      return { mark: MARKS.none, parts: ['looking for the daemon'] };
    case 'running': {
      const up = duration(now - daemon.startedAt);
      const names = agents.length === 0 ? [] : [`agents: ${agents.map(({ name }) => name).join(', ')}`];
      const rest = width < 60 ? [] : [`pid ${daemon.pid}`, `up ${up}`, ...names];
      const running = [`running ${daemon.address}`, ...rest];
      const warning = bypassText(agents) || runawayText(runaways) || outageText(providers, look, now);
      return warning === ''
        ? { mark: MARKS.none, parts: running }
        : { mark: MARKS.warn, parts: [`! ${warning}`, ...running] };
    }
    case 'silent':
      return { mark: MARKS.warn, parts: [`! pid ${daemon.pid} does not answer: gw logs`] };
    case 'stopped': {
      const seen = seenAt === null ? '' : ` (last seen ${look.times.moment(seenAt, now)})`;
      return { mark: MARKS.bad, parts: [`X STOPPED${seen}  run: gw start`] };
    }
  }
}

function bypassText(agents: readonly AgentView[]): string {
  const bypassing = agents.filter(({ bypassed }) => bypassed > 0);
  if (bypassing.length === 0) return '';
  const requests = bypassing.reduce((sum, { bypassed }) => sum + bypassed, 0);
  return `${plural(requests, 'request')} of ${bypassing.map(({ name }) => name).join(', ')} went around gw: gw coverage`;
}

/** The session that was found to run away last; empty without one. */
function runawayText([last, ...others]: readonly RunawayView[]): string {
  if (!last) return '';
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  return `${last.agent ?? 'session'} ${last.session} runs away: ${last.message}${more}`;
}

/** The provider with the most failures of those in trouble now; empty without one. */
function outageText(providers: readonly ProviderHealth[], { times }: Look, now: number): string {
  const troubled = providers
    .filter((health) => isTroubled(health) && !isOver(health, now))
    .sort((a, b) => b.failedAttempts - a.failedAttempts);
  const [worst] = troubled;
  return worst ? `${worst.provider}: ${healthText(worst, times, now)}` : '';
}

/** For how long a failure is news, if answers have come since. The providers' panel has the hour. */
const NEWS_MS = 60_000;

function isOver({ blocks, lastFailureAt, lastSuccessAt }: ProviderHealth, now: number): boolean {
  const failedAt = lastFailureAt ?? 0;
  return blocks.length === 0 && (lastSuccessAt ?? 0) > failedAt && now - failedAt > NEWS_MS;
}

function pausedText({ pausedProjects }: HeaderProps): string {
  return pausedProjects.length === 0 ? '' : `paused: ${pausedProjects.join(', ')}`.slice(0, 28);
}

function rightOf({ daemon, paused, readonly, now, look, width }: HeaderProps, pauses: string): string {
  // The left side reports a stopped daemon; nothing is live then.
  const live = daemon.kind === 'running' || daemon.kind === 'unknown' ? 'live  ' : '';
  const state = `${readonly && width >= 60 ? 'read-only  ' : ''}${paused ? 'PAUSED  ' : live}`;
  return `${pauses}${pauses === '' ? '' : '  '}${state}${look.times.time(now).slice(0, 5)}`;
}
