import type { ConditionalPrice } from '@pydantic/genai-prices';

const DAY_MS = 86_400_000;

/** How long a request may run: prices that come into force sooner count for its hold. */
const LOOKAHEAD_MS = DAY_MS;

export interface PriceDates {
  /** From this time on, the prices now or those to look ahead to are others. */
  untilMs: number;
  /** Times before then, or within the lookahead of it, at which other prices come into force. */
  upcomingMs: number[];
}

/** When the prices change that depend on a start date or, every day anew, on the time of day. */
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

/** A change far ahead counts from the moment it comes within the lookahead; a nearer one when it happens. */
function refreshAt(changeMs: number, atMs: number): number {
  return changeMs - LOOKAHEAD_MS > atMs ? changeMs - LOOKAHEAD_MS : changeMs;
}

/** When a clock next shows a time such as `16:30:00Z`. A day later it is the same again. */
function nextTime(time: string, atMs: number): number {
  return atMs + DAY_MS - modulo(atMs - Date.parse(`1970-01-01T${time}`), DAY_MS);
}

function modulo(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor;
}
