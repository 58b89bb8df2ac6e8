/**
 * A circuit breaker for one key and model.
 *
 *     closed --5 failures in a row, or half of 10 or more within 30 s--> open
 *     open --its time is over--> half open: one probe at a time
 *     half open --2 probes succeed--> closed        half open --a probe fails--> open, for longer
 */
export interface Breaker {
  phase: 'closed' | 'open' | 'half_open';
  /** Attempts of the last 30 s while closed, oldest first. */
  recent: Counted[];
  failuresInARow: number;
  /** How often it opened since it was last closed: each time doubles the wait. */
  openings: number;
  openUntilMs: number;
  probeSuccesses: number;
  /** Until when the probe under way keeps others out; a probe that never reports must not block for ever. */
  probeUntilMs: number;
}

/** The attempts of a second, in one count: one by one, those of 30 s are hundreds of thousands under load. */
interface Counted {
  sinceMs: number;
  attempts: number;
  failures: number;
}

const WINDOW_MS = 30_000;
const COUNTED_MS = 1_000;
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

/** Until when the breaker keeps requests out; 0 if one may pass now. */
export function blockedUntil(breaker: Breaker, nowMs: number): number {
  if (breaker.phase === 'closed') return 0;
  const until = breaker.phase === 'open' ? breaker.openUntilMs : breaker.probeUntilMs;
  return until > nowMs ? until : 0;
}

/**
 * A request goes out; answers whether it is a probe. A probe keeps others out until it reports. A request that
 * goes out although the breaker is open (there was nowhere else to go) serves as one too.
 */
export function beginAttempt(breaker: Breaker, nowMs: number): boolean {
  if (breaker.phase === 'closed' || breaker.probeUntilMs > nowMs) return false;
  breaker.phase = 'half_open';
  breaker.probeUntilMs = nowMs + PROBE_LEASE_MS;
  return true;
}

/** The probe ended without saying anything about the upstream, such as by the client's hanging up. */
export function abandonProbe(breaker: Breaker): void {
  breaker.probeUntilMs = 0;
}

export function recordSuccess(breaker: Breaker, nowMs: number): void {
  if (breaker.phase === 'closed') {
    breaker.failuresInARow = 0;
    remember(breaker, nowMs, true);
  } else if (breaker.phase === 'half_open') {
    breaker.probeUntilMs = 0;
    breaker.probeSuccesses++;
    if (breaker.probeSuccesses >= PROBES_TO_CLOSE) Object.assign(breaker, newBreaker());
  }
}

/** `waitMs` is what the upstream asked for; without it, or at 0, the wait doubles each time, with jitter, up to a minute. */
export function recordFailure(
  breaker: Breaker,
  nowMs: number,
  { waitMs, random }: { waitMs?: number | undefined; random: () => number },
): void {
  // Requests that were under way when it opened tell nothing new.
  if (breaker.phase === 'open') return;
  remember(breaker, nowMs, false);
  breaker.failuresInARow++;
  if (breaker.phase === 'closed' && !isTooMuch(breaker)) return;
  const doubled = Math.min(MAX_OPEN_MS, BASE_OPEN_MS * 2 ** breaker.openings);
  breaker.phase = 'open';
  breaker.openUntilMs = nowMs + (waitMs || doubled * (0.5 + random() / 2));
  breaker.openings++;
  breaker.probeSuccesses = 0;
  breaker.probeUntilMs = 0;
  breaker.recent = [];
}

function remember({ recent }: Breaker, atMs: number, ok: boolean): void {
  while ((recent[0]?.sinceMs ?? atMs) <= atMs - WINDOW_MS) recent.shift();
  let last = recent.at(-1);
  if (!last || atMs >= last.sinceMs + COUNTED_MS) {
    last = { sinceMs: atMs, attempts: 0, failures: 0 };
    recent.push(last);
  }
  last.attempts++;
  if (!ok) last.failures++;
}

function isTooMuch({ failuresInARow, recent }: Breaker): boolean {
  if (failuresInARow >= MAX_IN_A_ROW) return true;
  const attempts = sum(recent, (counted) => counted.attempts);
  const failures = sum(recent, (counted) => counted.failures);
  return attempts >= MIN_ATTEMPTS && failures >= FAILURE_RATE * attempts;
}

function sum(recent: readonly Counted[], count: (counted: Counted) => number): number {
  return recent.reduce((total, counted) => total + count(counted), 0);
}
