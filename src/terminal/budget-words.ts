import { formatUsd } from '../money.ts';
import type { BudgetView } from '../operations/schemas/budgets.ts';
import { usdText } from './numbers.ts';
import { duration, type TimeFormat } from './time.ts';

/** The forecast of a budget in two words, such as `out ~15:40`. */
export function forecastWords(budget: BudgetView, times: TimeFormat, now: number): string {
  const resets = resetText(budget, times, now);
  if (isAlmostFull(budget)) return 'almost out';
  if (budget.exceeded) {
    if (budget.cap_nano_usd === 0) return 'blocked';
    return resets === undefined ? 'full' : `until ${resets}`;
  }
  if (budget.reached_at !== null) return `out ~${times.moment(Date.parse(budget.reached_at), now)}`;
  return budget.period === 'rolling' || resets === undefined ? 'ok' : `ok to ${resets}`;
}

/** `X` for a full budget, `!` for one past its alert. */
export function mark({ exceeded, spent_usd, alert_usd }: BudgetView): string {
  if (exceeded) return 'X';
  return spent_usd >= alert_usd ? '!' : ' ';
}

/** The spent share of the cap. A cap of $0 is always full. */
export function shareOf({ cap_nano_usd: cap, spent_nano_usd: spent }: BudgetView): number {
  return cap === 0 ? 1 : spent / cap;
}

const HOUR_MS = 3_600_000;
const PERIOD_MS: Record<string, number> = {
  daily: 24 * HOUR_MS,
  weekly: 168 * HOUR_MS,
  monthly: 730.5 * HOUR_MS,
};

/** What is spent, held, and to come at the period's rate until its end, as shares of the cap. */
export function sharesOf(budget: BudgetView, now: number): { spent: number; held: number; forecast: number } {
  const { cap_nano_usd: cap, held_nano_usd, period, resets_at, reached_at, exceeded } = budget;
  const spent = shareOf(budget);
  const held = cap === 0 ? 0 : held_nano_usd / cap;
  if (reached_at !== null) return { spent, held, forecast: 1 };
  const length = PERIOD_MS[period];
  if (exceeded || length === undefined || resets_at === null) return { spent, held, forecast: 0 };
  const left = Date.parse(resets_at) - now;
  const elapsed = length - left;
  return { spent, held, forecast: elapsed > 0 ? Math.max(0, (spent * left) / elapsed - held) : 0 };
}

/** For a team's budget: the amount left for the team, and the amount granted to this gateway. */
export function grantedText({ team, granted_usd = 0, team_left_usd = 0 }: BudgetView): string {
  return team ? `, ${usdText(team_left_usd)} left for the team, ${usdText(granted_usd)} granted here` : '';
}

/** A cap, with the length of a rolling window: `$2.00 in 1h`. */
export function capText({
  cap_nano_usd,
  window_seconds,
}: Pick<BudgetView, 'cap_nano_usd' | 'window_seconds'>): string {
  return `${formatUsd(cap_nano_usd)}${window_seconds === null ? '' : ` in ${duration(window_seconds * 1000)}`}`;
}

/** The forecast of a budget in a sentence, such as "at this pace the cap is reached at 15:40". */
export function forecastText(budget: BudgetView, times: TimeFormat, now: number): string {
  const { cap_nano_usd: cap, spent_nano_usd: spent, period } = budget;
  const resets = resetText(budget, times, now);
  if (budget.unreachable_since)
    return `the team's database does not answer since ${times.moment(Date.parse(budget.unreachable_since), now)}: gw team status`;
  const then = resets === undefined ? '' : `; resets ${resets}`;
  if (isAlmostFull(budget)) return `almost full: ${formatUsd(cap - spent)} left${then}`;
  if (budget.exceeded) {
    if (resets === undefined) return 'full: requests are refused';
    return cap === 0
      ? 'every request that costs money is refused'
      : `full: requests are refused until ${resets}`;
  }
  if (budget.reached_at !== null)
    return `at this pace the cap is reached at ${times.moment(Date.parse(budget.reached_at), now)}${then}`;
  return period === 'rolling' || resets === undefined
    ? 'lasts at this pace'
    : `lasts until it resets (${resets})`;
}

/** Time at which the budget resets, or the oldest spend leaves a rolling window; undefined: never. */
function resetText({ resets_at }: BudgetView, times: TimeFormat, now: number): string | undefined {
  return resets_at === null ? undefined : times.moment(Date.parse(resets_at), now);
}

/**
 * Remaining money below this share of the cap is less than most holds: a forecast would promise room that requests
 * don't have.
 */
const MIN_USABLE_SHARE = 0.005;

function isAlmostFull(budget: BudgetView): boolean {
  return !budget.exceeded && shareOf(budget) > 1 - MIN_USABLE_SHARE;
}
