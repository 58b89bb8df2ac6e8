import type { Calendar } from '../../calendar.ts';
import { formatUsd, NANO_PER_USD } from '../../money.ts';
import type { WebhookEvent } from '../event-body.ts';

/** A chat message before a service's format: what a person should know at a glance. */
export interface ChatMessage {
  tone: 'good' | 'warning' | 'danger';
  /** Our own words: nothing from outside, so that every format can show it as a heading. */
  title: string;
  facts: Fact[];
  /** What to type to do something about it. */
  command?: string;
}

export interface Fact {
  label: string;
  value: string;
  /** The value is not ours: a format must show it without reading markup or mentions in it. */
  outside?: true;
}

export interface DescribeOptions {
  calendar: Calendar;
  /** How many blocked requests a summary tells of, and since when (UTC milliseconds). */
  eventCount?: number;
  since?: number;
}

/** The data of the events, as far as messages show it. */
interface EventData {
  budget_id?: string;
  period?: string;
  repo?: string;
  spent_usd?: number;
  cap_usd?: number;
  alert_percent?: number;
  resets_at?: string;
  skipped?: number;
  model?: string;
  test?: boolean;
}

/** Says an event in words. */
export function describe(event: WebhookEvent, options: DescribeOptions): ChatMessage {
  const data = JSON.parse(event.data) as EventData;
  const message = describeType(event, data, options);
  return data.test ? { ...message, title: `Test: ${message.title}` } : message;
}

function describeType(event: WebhookEvent, data: EventData, options: DescribeOptions): ChatMessage {
  const head = [outside('Project', event.project), ...spentFacts(data)];
  const raise = raiseCommand(event.project, data);
  const resets = resetFact(data, options.calendar);
  switch (event.type) {
    case 'budget.threshold_reached':
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
          outside('Project', event.project),
          { label: 'Spent in the last period', value: spentOfCap(data) },
          ...period(data),
          ...resets,
        ],
      };
    case 'request.blocked':
      return {
        tone: 'danger',
        title: blockedTitle(event, options),
        facts: [...head, ...(data.model === undefined ? [] : [outside('Last model', data.model)])],
        command: raise,
      };
    default:
      return { tone: 'warning', title: event.type, facts: head };
  }
}

function blockedTitle(event: WebhookEvent, { calendar, eventCount = 1, since }: DescribeOptions): string {
  const at = calendar.timeOfDay(since ?? event.createdAt);
  return eventCount === 1 ? `1 request blocked at ${at}` : `${eventCount} requests blocked since ${at}`;
}

const BAR_CELLS = 10;
const MAX_OUTSIDE_LENGTH = 80;

function spentFacts(data: EventData): Fact[] {
  if (data.cap_usd === undefined) return [];
  const filled = Math.min(BAR_CELLS, Math.floor((percentOf(data) * BAR_CELLS) / 100));
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled);
  return [{ label: 'Spent', value: `${spentOfCap(data)}  ${bar} ${percentOf(data)} %` }];
}

function spentOfCap({ spent_usd = 0, cap_usd = 0 }: EventData): string {
  return `${formatUsd(Math.round(spent_usd * NANO_PER_USD))} of ${formatUsd(Math.round(cap_usd * NANO_PER_USD))}`;
}

/** Rounded down, so that 100 % is all of it. A cap of nothing is always used up. */
function percentOf({ spent_usd = 0, cap_usd = 0 }: EventData): number {
  return cap_usd > 0 ? Math.floor((spent_usd / cap_usd) * 100 + 1e-9) : 100;
}

function period(data: EventData): Fact[] {
  const repo = data.repo === undefined ? [] : [outside('Repository', data.repo)];
  return data.period === undefined ? repo : [outside('Period', data.period), ...repo];
}

function resetFact(data: EventData, calendar: Calendar): Fact[] {
  const time = Date.parse(data.resets_at ?? '');
  if (Number.isNaN(time)) return [];
  const value = `${calendar.dateOf(time)} ${calendar.timeOfDay(time)} (${calendar.timezone})`;
  return [{ label: 'Resets', value }];
}

/** What to type for a higher cap: twice the one there is, to be changed at will. */
function raiseCommand(project: string, data: EventData): string {
  const period = data.period ?? data.budget_id?.split('/').at(-1) ?? '';
  const name = plainText(project);
  // A path is not ours to put into a command.
  if ((period !== 'daily' && period !== 'monthly') || data.repo !== undefined)
    return `gw budget list -p ${name}`;
  const amount = Math.max(1, Math.ceil((data.cap_usd ?? 0) * 2));
  return `gw budget set ${amount} -p ${name} --period ${period}`;
}

function outside(label: string, value: string): Fact {
  return { label, value: plainText(value), outside: true };
}

/**
 * A name from outside on one line, at most 80 characters, without what could steer the text around it: control
 * characters, direction overrides, invisible characters. An @ is kept from calling anybody by a zero-width space.
 */
export function plainText(text: string): string {
  const visible = text
    .slice(0, 4 * MAX_OUTSIDE_LENGTH)
    // Joiners stay: emoji and Persian are made with them.
    .replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...visible];
  const cut =
    characters.length > MAX_OUTSIDE_LENGTH
      ? `${characters.slice(0, MAX_OUTSIDE_LENGTH - 1).join('')}…`
      : visible;
  return cut.replaceAll('@', '@\u200b') || '-';
}
