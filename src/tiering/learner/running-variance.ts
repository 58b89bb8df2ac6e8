/** Exponentially weighted mean and variance of a stream. */
export interface RunningStats {
  count: number;
  mean: number;
  variance: number;
}

const HORIZON = 2_000;

export function newRunningStats(): RunningStats {
  return { count: 0, mean: 0, variance: 0 };
}

/** Adds a value. After 2,000 values, older ones decay exponentially. */
export function update(running: RunningStats, value: number): void {
  running.count++;
  const weight = 1 / Math.min(running.count, HORIZON);
  const delta = value - running.mean;
  running.mean += weight * delta;
  running.variance += weight * (delta * (value - running.mean) - running.variance);
}

/** Mean in standard errors: above 1.645 it is positive with 95 % confidence. */
export function tStatistic(running: RunningStats): number {
  const error = Math.sqrt(running.variance / Math.min(running.count, HORIZON));
  return error > 0 ? running.mean / error : 0;
}

/** Distance of a value from the mean, in standard deviations. */
export function standardise(running: RunningStats, value: number): number {
  return (value - running.mean) / (Math.sqrt(running.variance) || 1);
}
