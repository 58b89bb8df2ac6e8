import type { Calendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Random } from '../ids.ts';
import type { Claim, Outbox } from '../store/webhooks/outbox.ts';
import { buildPost } from './request.ts';
import { SEND_TIMEOUT_MS, type Send, type SendResult } from './send.ts';

export interface DispatcherOptions {
  outbox: Outbox;
  send: Send;
  clock: Clock;
  random: Random;
  calendar: () => Calendar;
  /** Called with warnings for the user: an endpoint was disabled, or the database can't be written. */
  warn: (message: string) => void;
  /** Maximum interval between polls of the outbox, which other processes also write to. */
  pollMs?: number;
}

/** Delivers due events from the outbox. */
export type Dispatcher = ReturnType<typeof createDispatcher>;

/** With a margin for event-loop delays: an attempt must be recorded before another daemon can claim it. */
const LEASE_MS = SEND_TIMEOUT_MS + 5_000;
const POLL_MS = 1_000;
const STOP_GRACE_MS = 2_000;

interface RunningAttempt {
  controller: AbortController;
  done: Promise<void>;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short functions over the state of one loop
export function createDispatcher(options: DispatcherOptions) {
  const { outbox, send, clock, random, calendar, warn, pollMs = POLL_MS } = options;
  /**
   * By delivery id. At most an alert and a summary per endpoint, because a claim takes only the heads of its queues.
   */
  const attempts = new Map<number, RunningAttempt>();
  let running = false;
  let polling: Promise<void> | undefined;
  let pollAgain = false;
  let cancelTimer = () => {};
  let warned = false;

  function wake(): void {
    if (!running) return;
    pollAgain = true;
    polling ??= pollUntilQuiet().finally(() => {
      polling = undefined;
      // wake() was called after the last poll and before this callback.
      if (pollAgain) wake();
    });
  }

  async function pollUntilQuiet(): Promise<void> {
    cancelTimer();
    let waitMs = pollMs;
    while (running && pollAgain) {
      pollAgain = false;
      // One poll serves all calls of wake() in an event-loop turn.
      await new Promise(setImmediate);
      waitMs = await poll();
    }
    if (running) cancelTimer = clock.after(waitMs, wake);
  }

  /** Starts due attempts. Returns the time until the next poll. */
  async function poll(): Promise<number> {
    try {
      const dueAt = await outbox.nextDueAt();
      if (dueAt === undefined || dueAt > clock.now()) return waitFor(dueAt);
      for (const claim of await outbox.claim({ now: clock.now(), leaseMs: LEASE_MS })) launch(claim);
      warned = false;
      return waitFor(await outbox.nextDueAt());
    } catch (error) {
      // Warns once, not at every poll until the database can be written again.
      if (!warned) warn(`webhooks wait until the database can be written: ${messageOf(error)}`);
      warned = true;
      return pollMs;
    }
  }

  function waitFor(dueAt: number | undefined): number {
    return dueAt === undefined ? pollMs : Math.max(0, Math.min(pollMs, dueAt - clock.now()));
  }

  function launch(claim: Claim): void {
    // Happens only if this daemon was suspended for longer than its own lease.
    attempts.get(claim.id)?.controller.abort();
    const controller = new AbortController();
    const done = deliver(claim, controller.signal)
      .catch((error: unknown) => warn(`webhook wh_${claim.endpointId}: ${messageOf(error)}`))
      .finally(() => {
        if (attempts.get(claim.id)?.controller === controller) attempts.delete(claim.id);
        wake();
      });
    attempts.set(claim.id, { controller, done });
  }

  async function deliver(claim: Claim, signal: AbortSignal): Promise<void> {
    // After a suspension there may be too little time left to send before another daemon can claim the delivery.
    const late = clock.now() > claim.lapsesAt - SEND_TIMEOUT_MS;
    const result = late ? undefined : await attempt(claim, signal);
    // An attempt that was skipped or aborted says nothing about the receiver and doesn't count.
    if (result === undefined || (signal.aborted && !result.ok)) await outbox.release(claim, clock.now());
    else await record(claim, result);
  }

  async function attempt(claim: Claim, signal: AbortSignal): Promise<SendResult> {
    const now = clock.now();
    try {
      return await send({ ...buildPost(claim, { calendar: calendar(), now }), signal });
    } catch (error) {
      // An event that can't be formatted must not block the queue behind it forever.
      const failure = { ok: false, status: null, response: null, durationMs: 0 };
      return { ...failure, at: now, error: messageOf(error) };
    }
  }

  async function record(claim: Claim, { ok, ...attempt }: SendResult): Promise<void> {
    const now = clock.now();
    if (ok) {
      await outbox.delivered(claim, attempt, now);
      return;
    }
    const delayMs = retryDelayMs(claim.attempts + 1, random);
    if (delayMs !== undefined) {
      await outbox.retryAt(claim, attempt, now + delayMs);
      return;
    }
    const { disabled } = await outbox.failed(claim, attempt, now);
    if (disabled) warn(`webhook wh_${claim.endpointId} of ${claim.project} is disabled: ${disabled}`);
  }

  return {
    start(): void {
      running = true;
      void outbox
        .foldBlocked(clock.now())
        .catch((error: unknown) => warn(`could not gather blocked requests: ${messageOf(error)}`))
        .finally(wake);
    },
    /** Stops claiming, waits `graceMs` for the attempts in flight, and aborts the rest. */
    async stop(graceMs = STOP_GRACE_MS): Promise<void> {
      running = false;
      cancelTimer();
      await polling;
      const allDone = Promise.all([...attempts.values()].map(({ done }) => done));
      const cancel = clock.after(graceMs, () => {
        for (const { controller } of attempts.values()) controller.abort();
      });
      await allDone;
      cancel();
    },
    /** Triggers a poll of the outbox, because a delivery may be due. Cheap to call. */
    wake,
  };
}

/** Delays after the first, second and third failed attempt. After the fourth, the delivery fails. */
const RETRY_DELAYS_MS = [1_000, 5_000, 30_000] as const;

const MAX_JITTER = 0.1;

/**
 * Delay after failed attempt number `attempt`, counted from 1; undefined after the last. Ignores a receiver's
 * `retry-after`, which would hold back the alerts behind it.
 */
export function retryDelayMs(attempt: number, random: Random): number | undefined {
  const delay = RETRY_DELAYS_MS[attempt - 1];
  if (delay === undefined) return undefined;
  // Jitter keeps endpoints that failed together from retrying together.
  const jitter = (random(4).readUInt32BE() / 2 ** 32) * MAX_JITTER;
  return Math.round(delay * (1 + jitter));
}
