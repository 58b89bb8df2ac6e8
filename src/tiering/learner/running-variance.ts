/** Mean and variance of a stream that slowly forgets. */
export interface Running {
  count: number;
  mean: number;
  variance: number;
}

const HORIZON = 2_000;

export function newRunning(): Running {
  return { count: 0, mean: 0, variance: 0 };
}

/** Counts a value in; beyond 2,000 values the oldest fade. */
export function update(running: Running, value: number): void {
  running.count++;
  const weight = 1 / Math.min(running.count, HORIZON);
  const delta = value - running.mean;
  running.mean += weight * delta;
  running.variance += weight * (delta * (value - running.mean) - running.variance);
}

/** How many standard errors the mean lies above 0: from 1.645 on it is positive with 95 % confidence. */
export function certainty(running: Running): number {
  const error = Math.sqrt(running.variance / Math.min(running.count, HORIZON));
  return error > 0 ? running.mean / error : 0;
}

/** How many standard deviations a value lies above the mean. */
export function standardise(running: Running, value: number): number {
  return (value - running.mean) / (Math.sqrt(running.variance) || 1);
}
