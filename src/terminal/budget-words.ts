import { formatUsd } from '../money.ts';
import { type Standing, thresholdOf } from '../store/budgets/budgets.ts';
import { forecastOf, isOver } from '../store/budgets/forecast.ts';
import { duration, type TimeFormat } from './time.ts';

/** What to expect of a budget in two words, such as `out ~15:40`. */
export function forecastWords(standing: Standing, times: TimeFormat, now: number): string {
  const { budget, resetsAt } = standing;
  if (isAsGoodAsFull(standing)) return 'almost out';
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      return budget.capNanoUsd === 0 ? 'blocked' : `until ${times.moment(resetsAt, now)}`;
    case 'runs_out':
      return `out ~${times.moment(forecast.at, now)}`;
    case 'lasts':
      return budget.period === 'rolling' ? 'ok' : `ok to ${times.moment(resetsAt, now)}`;
  }
}

/** `X` for a full budget, `!` from its alert on. */
export function mark(standing: Standing): string {
  if (isOver(standing)) return 'X';
  return standing.posted >= thresholdOf(standing.budget) ? '!' : ' ';
}

/** The spent share of the cap; a cap of $0 is full from the start. */
export function shareOf({ budget, posted }: Standing): number {
  return budget.capNanoUsd === 0 ? 1 : posted / budget.capNanoUsd;
}

/** A cap, and the time that it is for where that is a sliding one: `$2.00 in 1h`. */
export function capText({ capNanoUsd, windowMs }: Standing['budget']): string {
  return `${formatUsd(capNanoUsd)}${windowMs === null ? '' : ` in ${duration(windowMs)}`}`;
}

/** What to expect of a budget, such as "at this pace the cap is reached at 15:40". */
export function forecastText(standing: Standing, times: TimeFormat, now: number): string {
  const resets = times.moment(standing.resetsAt, now);
  if (isAsGoodAsFull(standing))
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

/** What is left is less than most requests are held for: a forecast of when it is spent would promise them room. */
const SLIVER = 0.005;

function isAsGoodAsFull(standing: Standing): boolean {
  return !isOver(standing) && shareOf(standing) > 1 - SLIVER;
}
