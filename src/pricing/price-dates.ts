import type { ConditionalPrice } from '@pydantic/genai-prices';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A provider call is aborted after this time. */
export const MAX_CALL_MS = 120 * MINUTE_MS;
/** Longest wait of a request for budget room and a connection, above every setting's maximum. */
const MAX_WAIT_MS = 15 * MINUTE_MS;
/** Prices that take effect while a request may still run count for its hold. */
const LOOKAHEAD_MS = MAX_WAIT_MS + MAX_CALL_MS;

export interface PriceDates {
  /** Until this time, the current and the upcoming prices stay the same. */
  untilMs: number;
  /** Times before `untilMs` plus the lookahead at which other prices take effect. */
  upcomingMs: number[];
}

/** Change times of prices that depend on a start date or on the time of day. */
export function priceDates(prices: readonly ConditionalPrice[], atMs: number): PriceDates {
  const changes = prices.flatMap(({ constraint }) => {
    if (!constraint) return [];
    if (constraint.type === 'start_date') return [Date.parse(constraint.start_date)];
    return [constraint.start_time, constraint.end_time].map((time) => nextTime(time, atMs));
  });
  const ahead = changes.filter((changeMs) => changeMs > atMs);
  const untilMs = Math.min(...ahead.map((changeMs) => refreshAt(changeMs, atMs)));
  return { untilMs, upcomingMs: ahead.filter((changeMs) => changeMs < untilMs + LOOKAHEAD_MS) };
}

/** When a price change invalidates cached prices: when it enters the lookahead, or when it takes effect. */
function refreshAt(changeMs: number, atMs: number): number {
  return changeMs - LOOKAHEAD_MS > atMs ? changeMs - LOOKAHEAD_MS : changeMs;
}

/** The next occurrence of a time of day such as `16:30:00Z`. */
function nextTime(time: string, atMs: number): number {
  return atMs + DAY_MS - modulo(atMs - Date.parse(`1970-01-01T${time}`), DAY_MS);
}

const modulo = (dividend: number, divisor: number): number => ((dividend % divisor) + divisor) % divisor;
