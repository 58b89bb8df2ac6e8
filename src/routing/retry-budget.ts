/**
 * Limits retries, so that an outage does not multiply the traffic: a fifth of the requests of the last 10 seconds plus
 * 10 per second, as in Finagle's RetryBudget.
 */
export interface RetryBudget {
  /** One entry for each second with traffic, oldest first. */
  seconds: { second: number; requests: number; retries: number }[];
}

const LIFE_SECONDS = 10;
const SHARE = 0.2;
const FREE_PER_SECOND = 10;

export function newRetryBudget(): RetryBudget {
  return { seconds: [] };
}

/** Counts a request's first attempt. */
export function countRequest(budget: RetryBudget, nowMs: number): void {
  currentSecond(budget, nowMs).requests++;
}

/** Takes one retry from the budget; false if there is none left. */
export function takeRetry(budget: RetryBudget, nowMs: number): boolean {
  const current = currentSecond(budget, nowMs);
  let requests = 0;
  let retries = 0;
  for (const second of budget.seconds) {
    requests += second.requests;
    retries += second.retries;
  }
  if (retries + 1 > SHARE * requests + FREE_PER_SECOND * LIFE_SECONDS) return false;
  current.retries++;
  return true;
}

function currentSecond(budget: RetryBudget, nowMs: number): RetryBudget['seconds'][number] {
  const second = Math.floor(nowMs / 1_000);
  const latest = budget.seconds.at(-1);
  if (latest?.second === second) return latest;
  budget.seconds = budget.seconds.filter((entry) => entry.second > second - LIFE_SECONDS);
  const current = { second, requests: 0, retries: 0 };
  budget.seconds.push(current);
  return current;
}
