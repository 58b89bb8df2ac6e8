/**
 * A circuit breaker for one key and model.
 *
 *     closed --5 failures in a row, or half of 10 or more within 30 s--> open
 *     open --wait is over--> half open: one probe at a time
 *     half open --2 probes succeed--> closed        half open --a probe fails--> open, for longer
 */
export interface Breaker {
  phase: 'closed' | 'open' | 'half_open';
  /** Attempts of the last 30 s while closed, oldest first. */
  recent: AttemptCount[];
  failuresInARow: number;
  /** Number of openings since the breaker was last closed. Each opening doubles the wait. */
  openings: number;
  openUntilMs: number;
  probeSuccesses: number;
  /** Deadline of the running probe, which blocks other requests. Bounded, in case the probe never reports. */
  probeUntilMs: number;
}

/** Attempts of one second. Aggregated, because 30 s under load see hundreds of thousands of attempts. */
interface AttemptCount {
  sinceMs: number;
  attempts: number;
  failures: number;
}

const WINDOW_MS = 30_000;
const BUCKET_MS = 1_000;
const MIN_ATTEMPTS = 10;
const FAILURE_RATE = 0.5;
const MAX_IN_A_ROW = 5;
const BASE_OPEN_MS = 5_000;
const MAX_OPEN_MS = 60_000;
const PROBES_TO_CLOSE = 2;
const PROBE_LEASE_MS = 120_000;

export function newBreaker(): Breaker {
  return {
    phase: 'closed',
    recent: [],
    failuresInARow: 0,
    openings: 0,
    openUntilMs: 0,
    probeSuccesses: 0,
    probeUntilMs: 0,
  };
}

/** Time until which the breaker blocks requests; 0 if a request may pass now. */
export function blockedUntil(breaker: Breaker, nowMs: number): number {
  if (breaker.phase === 'closed') return 0;
  const until = breaker.phase === 'open' ? breaker.openUntilMs : breaker.probeUntilMs;
  return until > nowMs ? until : 0;
}

/**
 * Begins an attempt. Returns whether it is a probe, which blocks other requests until it reports. A last resort sent
 * while the breaker is open is a probe too.
 */
export function beginAttempt(breaker: Breaker, nowMs: number): boolean {
  if (breaker.phase === 'closed' || breaker.probeUntilMs > nowMs) return false;
  breaker.phase = 'half_open';
  breaker.probeUntilMs = nowMs + PROBE_LEASE_MS;
  return true;
}

/** Ends a probe without a verdict on the upstream, for example because the client disconnected. */
export function abandonProbe(breaker: Breaker): void {
  breaker.probeUntilMs = 0;
}

export function recordSuccess(breaker: Breaker, nowMs: number): void {
  if (breaker.phase === 'closed') {
    breaker.failuresInARow = 0;
    countAttempt(breaker, nowMs, true);
  } else if (breaker.phase === 'half_open') {
    breaker.probeUntilMs = 0;
    breaker.probeSuccesses++;
    if (breaker.probeSuccesses >= PROBES_TO_CLOSE) Object.assign(breaker, newBreaker());
  }
}

/** `waitMs`: the wait that the upstream asked for. If missing or 0: exponential backoff with jitter, up to 60 s. */
export function recordFailure(
  breaker: Breaker,
  nowMs: number,
  { waitMs, random }: { waitMs?: number | undefined; random: () => number },
): void {
  // A failure of a request sent before the breaker opened adds no information.
  if (breaker.phase === 'open') return;
  countAttempt(breaker, nowMs, false);
  breaker.failuresInARow++;
  if (breaker.phase === 'closed' && !shouldOpen(breaker)) return;
  const doubled = Math.min(MAX_OPEN_MS, BASE_OPEN_MS * 2 ** breaker.openings);
  breaker.phase = 'open';
  breaker.openUntilMs = nowMs + (waitMs || doubled * (0.5 + random() / 2));
  breaker.openings++;
  breaker.probeSuccesses = 0;
  breaker.probeUntilMs = 0;
  breaker.recent = [];
}

function countAttempt({ recent }: Breaker, atMs: number, ok: boolean): void {
  while ((recent[0]?.sinceMs ?? atMs) <= atMs - WINDOW_MS) recent.shift();
  let last = recent.at(-1);
  if (!last || atMs >= last.sinceMs + BUCKET_MS) {
    last = { sinceMs: atMs, attempts: 0, failures: 0 };
    recent.push(last);
  }
  last.attempts++;
  if (!ok) last.failures++;
}

function shouldOpen({ failuresInARow, recent }: Breaker): boolean {
  if (failuresInARow >= MAX_IN_A_ROW) return true;
  const attempts = sum(recent, (count) => count.attempts);
  const failures = sum(recent, (count) => count.failures);
  return attempts >= MIN_ATTEMPTS && failures >= FAILURE_RATE * attempts;
}

function sum(recent: readonly AttemptCount[], field: (count: AttemptCount) => number): number {
  return recent.reduce((total, count) => total + field(count), 0);
}
