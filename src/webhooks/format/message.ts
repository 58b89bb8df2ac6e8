import type { Calendar } from '../../calendar.ts';
import { formatUsd, NANO_PER_USD } from '../../money.ts';
import { shellQuoted } from '../../shell-quoted.ts';
import type { WebhookEvent } from '../event-body.ts';

/** A chat message, independent of the chat's format. */
export interface ChatMessage {
  tone: 'good' | 'warning' | 'danger';
  /** Contains no external text, so that every format can use it as a heading. */
  title: string;
  facts: Fact[];
  /** A gw command that deals with the event. */
  command?: string;
}

export interface Fact {
  label: string;
  value: string;
  /** The value is external text. Formats must not interpret markup or mentions in it. */
  external?: true;
}

export interface DescribeOptions {
  calendar: Calendar;
  /** Number of blocked requests in a summary. */
  eventCount?: number;
  /** Time of the first blocked request, UTC milliseconds. */
  since?: number;
}

/** Fields of event data that messages use. */
interface EventData {
  budget_id?: string;
  period?: string;
  repo?: string;
  spent_usd?: number;
  cap_usd?: number;
  alert_percent?: number;
  resets_at?: string;
  skipped?: number;
  model?: string | null;
  /** `limit_window`, `runaway` or `fallback`; undefined for a share of the cap. */
  kind?: string;
  service?: string;
  window?: string;
  /** 0 to 1. */
  used?: number;
  forecast?: boolean;
  full_at?: string;
  /** Of a session that runs away: its id, its agent, and why. */
  session?: string;
  agent?: string | null;
  message?: string;
  ask_id?: string;
  needed_usd?: number;
  expires_at?: string;
  test?: boolean;
  /** Whether it is a team budget. */
  team?: boolean;
}

export function describe(event: WebhookEvent, options: DescribeOptions): ChatMessage {
  const data = JSON.parse(event.data) as EventData;
  const message = describeType(event, data, options);
  return data.test ? { ...message, title: `Test: ${message.title}` } : message;
}

function describeType(event: WebhookEvent, data: EventData, options: DescribeOptions): ChatMessage {
  const whose =
    event.project === '' ? { label: 'Budget', value: 'whole team' } : external('Project', event.project);
  const head = [whose, ...spentFacts(data)];
  const raise = raiseCommand(event.project, data);
  const resets = timeFact('Resets', data.resets_at, options.calendar);
  switch (event.type) {
    case 'budget.threshold_reached':
      if (data.kind === 'limit_window') return limitMessage(data, options.calendar);
      if (data.kind === 'runaway') return runawayMessage(whose, data);
      return {
        tone: 'warning',
        title: `Budget alert: ${percentOf(data)} % spent`,
        facts: [...head, ...period(data), ...resets],
        command: raise,
      };
    case 'budget.exceeded':
      return {
        tone: 'danger',
        title: 'Budget used up: requests are blocked',
        facts: [...head, ...period(data), ...resets],
        command: raise,
      };
    case 'budget.reset':
      return {
        tone: 'good',
        title: 'Budget reset: a new period has begun',
        facts: [
          whose,
          { label: 'Spent in the last period', value: spentOfCap(data) },
          ...period(data),
          ...resets,
        ],
      };
    case 'request.blocked':
      return {
        tone: 'danger',
        title: blockedTitle(event, options),
        facts: [...head, ...(data.model == null ? [] : [external('Last model', data.model)])],
        command: raise,
      };
    case 'request.approval_requested':
      return {
        tone: 'warning',
        title: `Approve a request beyond the budget? It needs ${formatUsd(Math.round((data.needed_usd ?? 0) * NANO_PER_USD))}`,
        facts: [
          ...head,
          ...(data.model == null ? [] : [external('Model', data.model)]),
          ...timeFact('Waits until', data.expires_at, options.calendar),
        ],
        command: approveCommand(data),
      };
    default:
      return { tone: 'warning', title: event.type, facts: head };
  }
}

function runawayMessage(whose: Fact, { session = '', agent, message = '' }: EventData): ChatMessage {
  return {
    tone: 'warning',
    title: 'A session looks like a runaway',
    facts: [
      whose,
      external('Session', session),
      ...(agent ? [external('Agent', agent)] : []),
      { label: 'Why', value: message },
    ],
    command: `gw sessions ${shellQuoted(session)}`,
  };
}

/** What a subscription's window has reached, or will before it resets. */
function limitMessage(data: EventData, calendar: Calendar): ChatMessage {
  const used = Math.floor((data.used ?? 0) * 100 + 1e-9);
  const facts = [
    { label: 'Used', value: `${used} %` },
    external('Window', [data.window, data.model].filter(Boolean).join(' ')),
    external('Plan', data.service ?? ''),
    ...timeFact('Full at this rate', data.full_at, calendar),
    ...timeFact('Resets', data.resets_at, calendar),
  ];
  const title = data.forecast
    ? 'Plan window: full before it resets, at this rate'
    : `Plan window alert: ${data.alert_percent ?? used} % used`;
  return { tone: 'warning', title, facts, command: 'gw limits' };
}

function blockedTitle(event: WebhookEvent, { calendar, eventCount = 1, since }: DescribeOptions): string {
  const at = calendar.timeOfDay(since ?? event.createdAt);
  return eventCount === 1 ? `1 request blocked at ${at}` : `${eventCount} requests blocked since ${at}`;
}

const BAR_CELLS = 10;
const MAX_EXTERNAL_LENGTH = 80;

function spentFacts(data: EventData): Fact[] {
  if (data.cap_usd === undefined) return [];
  const filled = Math.min(BAR_CELLS, Math.floor((percentOf(data) * BAR_CELLS) / 100));
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled);
  return [{ label: 'Spent', value: `${spentOfCap(data)}  ${bar} ${percentOf(data)} %` }];
}

function spentOfCap({ spent_usd = 0, cap_usd = 0 }: EventData): string {
  return `${formatUsd(Math.round(spent_usd * NANO_PER_USD))} of ${formatUsd(Math.round(cap_usd * NANO_PER_USD))}`;
}

/** Rounded down, so that 100 % means used up. A cap of 0 is always used up. */
function percentOf({ spent_usd = 0, cap_usd = 0 }: EventData): number {
  return cap_usd > 0 ? Math.floor((spent_usd / cap_usd) * 100 + 1e-9) : 100;
}

function period(data: EventData): Fact[] {
  const repo = data.repo === undefined ? [] : [external('Repository', data.repo)];
  return data.period === undefined ? repo : [external('Period', data.period), ...repo];
}

function timeFact(label: string, text: string | undefined, calendar: Calendar): Fact[] {
  const time = Date.parse(text ?? '');
  if (Number.isNaN(time)) return [];
  return [{ label, value: `${calendar.dateOf(time)} ${calendar.timeOfDay(time)} (${calendar.timezone})` }];
}

/** Validated although gw creates the id, because it becomes part of a command. */
function approveCommand({ ask_id: id = '' }: EventData): string {
  return /^ask_[0-9a-z]{11}$/.test(id) ? `gw approve ${id}` : 'gw asks';
}

/** Periods that identify a project's budget without further options. */
const RAISABLE = new Set(['daily', 'weekly', 'monthly']);

/** Suggested command, which doubles the cap. */
function raiseCommand(project: string, data: EventData): string {
  const period = data.period ?? data.budget_id?.split('/').at(-1) ?? '';
  const name = plainText(project);
  const amount = Math.max(1, Math.ceil((data.cap_usd ?? 0) * 2));
  if (data.team)
    return `gw team budgets set ${amount}${project === '' ? '' : ` -p ${name}`} --period ${period}`;
  // A repository's path is external text and must not be part of a command.
  if (!RAISABLE.has(period) || data.repo !== undefined) return `gw budget list -p ${name}`;
  return `gw budget set ${amount} -p ${name} --period ${period}`;
}

const external = (label: string, value: string): Fact => ({ label, value: plainText(value), external: true });

/**
 * External text on one line of at most 80 characters, without characters that affect the text around it: control
 * characters, direction overrides, invisible characters. A zero-width space after @ prevents mentions.
 */
export function plainText(text: string): string {
  const visible = text
    .slice(0, 4 * MAX_EXTERNAL_LENGTH)
    // Keeps joiners, which emoji and Persian need.
    .replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...visible];
  const cut =
    characters.length > MAX_EXTERNAL_LENGTH
      ? `${characters.slice(0, MAX_EXTERNAL_LENGTH - 1).join('')}…`
      : visible;
  return cut.replaceAll('@', '@\u200b') || '-';
}
