import { formatUsd } from '../money.ts';
import { type Standing, thresholdOf } from '../store/budgets/budgets.ts';
import { forecastOf, isOver } from '../store/budgets/forecast.ts';
import { duration, type TimeFormat } from './time.ts';

/** The forecast of a budget in two words, such as `out ~15:40`. */
export function forecastWords(standing: Standing, times: TimeFormat, now: number): string {
  const { budget, resetsAt } = standing;
  if (isAlmostFull(standing)) return 'almost out';
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      if (budget.capNanoUsd === 0) return 'blocked';
      return resetsAt === Number.POSITIVE_INFINITY ? 'full' : `until ${times.moment(resetsAt, now)}`;
    case 'runs_out':
      return `out ~${times.moment(forecast.at, now)}`;
    case 'lasts':
      return budget.period === 'rolling' || budget.period === 'lifetime'
        ? 'ok'
        : `ok to ${times.moment(resetsAt, now)}`;
  }
}

/** `X` for a full budget, `!` for one past its alert. */
export function mark(standing: Standing): string {
  if (isOver(standing)) return 'X';
  return standing.posted >= thresholdOf(standing.budget) ? '!' : ' ';
}

/** The spent share of the cap. A cap of $0 is always full. */
export function shareOf({ budget, posted }: Standing): number {
  return budget.capNanoUsd === 0 ? 1 : posted / budget.capNanoUsd;
}

/** A cap, with its window if it has a sliding one: `$2.00 in 1h`. */
export function capText({
  capNanoUsd,
  windowMs,
}: Pick<Standing['budget'], 'capNanoUsd' | 'windowMs'>): string {
  return `${formatUsd(capNanoUsd)}${windowMs === null ? '' : ` in ${duration(windowMs)}`}`;
}

/** The forecast of a budget in a sentence, such as "at this pace the cap is reached at 15:40". */
export function forecastText(standing: Standing, times: TimeFormat, now: number): string {
  if (standing.budget.period === 'lifetime') return lifetimeText(standing, times, now);
  const resets = times.moment(standing.resetsAt, now);
  if (isAlmostFull(standing))
    return `almost full: ${formatUsd(standing.budget.capNanoUsd - standing.posted)} left; resets ${resets}`;
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      return standing.budget.capNanoUsd === 0
        ? 'every request that costs money is refused'
        : `full: requests are refused until ${resets}`;
    case 'runs_out':
      return `at this pace the cap is reached at ${times.moment(forecast.at, now)}; resets ${resets}`;
    case 'lasts':
      return standing.budget.period === 'rolling'
        ? 'lasts at this pace'
        : `lasts until it resets (${resets})`;
  }
}

/** The same of a budget that never starts again from zero. */
function lifetimeText(standing: Standing, times: TimeFormat, now: number): string {
  const { budget, posted } = standing;
  if (isAlmostFull(standing)) return `almost full: ${formatUsd(budget.capNanoUsd - posted)} left`;
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      return 'full: requests are refused';
    case 'runs_out':
      return `at this pace the cap is reached at ${times.moment(forecast.at, now)}`;
    case 'lasts':
      return 'lasts at this pace';
  }
}

/** A share of the cap smaller than most holds: a forecast would promise requests room that they do not have. */
const MIN_USABLE_SHARE = 0.005;

function isAlmostFull(standing: Standing): boolean {
  return !isOver(standing) && shareOf(standing) > 1 - MIN_USABLE_SHARE;
}
