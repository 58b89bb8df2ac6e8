/** Mean and variance of a stream that slowly forgets. */
export interface Running {
  count: number;
  mean: number;
  variance: number;
}

const HORIZON = 2_000;
const NORMAL_95 = 1.645;

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

/** The value below which the true mean lies with a chance of 5 %. */
export function lowerBound95(running: Running): number {
  if (running.count < 2) return Number.NEGATIVE_INFINITY;
  return running.mean - NORMAL_95 * Math.sqrt(running.variance / Math.min(running.count, HORIZON));
}

/** How many standard deviations a value lies above the mean. */
export function standardise(running: Running, value: number): number {
  return (value - running.mean) / (Math.sqrt(running.variance) || 1);
}
