import { headerOf, type RawHeaders } from '../raw-headers.ts';
import type { Login } from './subscriptions.ts';

/** A window of a subscription, as the headers of an answer state it. */
interface PlanWindow {
  /** Its length: `5h`, `7d`. */
  window: string;
  /** The models that it is for; '': all. */
  model: string;
  /** Millionths of the window. */
  usedPpm: number;
  /** UTC milliseconds. */
  resetsAt: number;
  status: string;
}

/** A header that gw can't use. */
interface OddHeader {
  header: string;
  problem: string;
}

export interface PlanReading {
  windows: PlanWindow[];
  odd: OddHeader[];
  /** The request is billed beyond the plan: as overage at Anthropic, from credits at OpenAI. */
  isBeyondPlan: boolean;
}

const HOUR_MS = 3_600_000;
/** Resets are rounded, and the clocks of two machines differ. */
const CLOCK_SLACK_MS = 15 * 60_000;
const MAX_ODD = 8;
const PPM = 1_000_000;

/**
 * Reads the limit headers of an answer to a login's request. What is missing, out of range or dated by another clock is
 * reported as odd and used for nothing. Header names: Claude Code 2.1.329, and codex-rs/codex-api/src/rate_limits.rs in
 * https://github.com/openai/codex.
 */
export function readPlanWindows(login: Login, headers: RawHeaders, now: number): PlanReading {
  const odd: OddHeader[] = [];
  const clock = clockProblem(headers, now);
  const windows: PlanWindow[] = [];
  for (const stated of login === 'claude' ? anthropicWindows(headers, odd) : codexWindows(headers, now)) {
    const found = clock ?? checked(stated, now);
    if ('problem' in found) odd.push({ header: stated.header, problem: found.problem });
    else windows.push(found);
  }
  const isBeyondPlan = login === 'claude' ? hasOverage(headers) : usesCredits(headers, windows);
  return { windows, odd: odd.slice(0, MAX_ODD), isBeyondPlan };
}

/** A window as its headers state it, in text. */
interface StatedWindow {
  /** The header of its utilisation. */
  header: string;
  window: string;
  model: string;
  lengthMs: number;
  /** What is used, and the number that stands for all of it. */
  used: string | undefined;
  whole: number;
  /** UTC seconds. */
  reset: string | number | undefined;
  status: string | undefined;
}

function checked(stated: StatedWindow, now: number): PlanWindow | { problem: string } {
  const { window, model, used, whole, reset, lengthMs } = stated;
  const share = numberIn(used) / whole;
  if (Number.isNaN(share)) return { problem: used === undefined ? 'missing' : 'is not a number' };
  if (share < 0 || share > 1) return { problem: `is ${share < 0 ? 'below 0' : `above ${whole}`}` };
  const resetsAt = numberIn(reset) * 1_000;
  if (Number.isNaN(resetsAt)) return { problem: 'has no time of its reset' };
  if (resetsAt < now - CLOCK_SLACK_MS) return { problem: 'has a reset in the past' };
  if (resetsAt > now + lengthMs + CLOCK_SLACK_MS) return { problem: `has a reset more than ${window} ahead` };
  const status = stated.status ?? (share >= 1 ? 'rejected' : 'allowed');
  return {
    window,
    model,
    usedPpm: Math.round(share * PPM),
    resetsAt: Math.round(resetsAt),
    status: status.slice(0, 32),
  };
}

const numberIn = (text: string | number | undefined): number =>
  text === undefined || text === '' ? Number.NaN : Number(text);

/** The answer's own date tells a clock that is off; resets can't be placed by it then. */
function clockProblem(headers: RawHeaders, now: number): { problem: string } | undefined {
  const date = Date.parse(headerOf(headers, 'date') ?? '');
  if (Number.isNaN(date) || Math.abs(date - now) <= CLOCK_SLACK_MS) return undefined;
  const minutes = Math.round(Math.abs(date - now) / 60_000);
  return { problem: `came ${minutes} minutes ${date < now ? 'behind' : 'ahead of'} this machine's clock` };
}

const UNIFIED = 'anthropic-ratelimit-unified-';
const UTILIZATION = '-utilization';
/** A length, and the models behind it: `5h`, `7d`, `7d_opus`. */
const ANTHROPIC_WINDOW = /^(\d{1,3})([hd])(?:[_-]([a-z][\w.-]{0,31}))?$/;

function* anthropicWindows(headers: RawHeaders, odd: OddHeader[]): Generator<StatedWindow> {
  const names = new Set<string>();
  for (let i = 0; i < headers.length; i += 2) {
    const [, name] = /^anthropic-ratelimit-unified-(.+)-(?:utilization|reset)$/.exec(headers[i] ?? '') ?? [];
    if (name !== undefined && name !== 'overage') names.add(name);
  }
  for (const name of names) {
    const header = UNIFIED + name + UTILIZATION;
    const [, count, unit, model = ''] = ANTHROPIC_WINDOW.exec(name) ?? [];
    if (count === undefined) {
      odd.push({ header: header.slice(0, 100), problem: 'names a window that gw does not know' });
      continue;
    }
    yield {
      header,
      window: count + unit,
      model,
      lengthMs: Number(count) * HOUR_MS * (unit === 'd' ? 24 : 1),
      used: headerOf(headers, header),
      whole: 1,
      reset: headerOf(headers, `${UNIFIED}${name}-reset`),
      status: headerOf(headers, `${UNIFIED}${name}-status`),
    };
  }
}

/** The model's part is absent in the windows of the plan itself. */
const CODEX_WINDOW = /^x-codex-(?:([a-z0-9][\w-]{0,31})-)?(primary|secondary)-used-percent$/;

function* codexWindows(headers: RawHeaders, now: number): Generator<StatedWindow> {
  for (let i = 0; i < headers.length; i += 2) {
    const header = headers[i] ?? '';
    const [, id, place] = CODEX_WINDOW.exec(header) ?? [];
    if (place === undefined) continue;
    const prefix = header.slice(0, -'used-percent'.length);
    const used = headers[i + 1];
    const minutes = numberIn(headerOf(headers, `${prefix}window-minutes`));
    // A plan without a second window has zeros in its place.
    if (minutes === 0 && Number(used) === 0) continue;
    const hours = Math.round(minutes / 60);
    const after = numberIn(headerOf(headers, `${prefix}reset-after-seconds`));
    yield {
      header,
      window: Number.isNaN(hours) ? place : hours >= 24 && hours % 24 === 0 ? `${hours / 24}d` : `${hours}h`,
      model: id === undefined ? '' : (headerOf(headers, `x-codex-${id}-limit-name`) ?? id).slice(0, 64),
      lengthMs: (Number.isNaN(hours) ? 24 * 31 : hours) * HOUR_MS,
      used,
      whole: 100,
      reset: headerOf(headers, `${prefix}reset-at`) ?? Math.round(now / 1_000 + after),
      status: undefined,
    };
  }
}

function hasOverage(headers: RawHeaders): boolean {
  const overage = headerOf(headers, `${UNIFIED}overage-status`) ?? '';
  return headerOf(headers, `${UNIFIED}status`) === 'rejected' && overage.startsWith('allowed');
}

function usesCredits(headers: RawHeaders, windows: readonly PlanWindow[]): boolean {
  const hasCredits = /^true$/i.test(headerOf(headers, 'x-codex-credits-has-credits') ?? '');
  return hasCredits && windows.some(({ model, usedPpm }) => model === '' && usedPpm >= PPM);
}
