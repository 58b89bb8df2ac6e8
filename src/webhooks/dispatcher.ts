import type { Calendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Random } from '../ids.ts';
import type { Claim, Outbox } from '../store/webhooks/outbox.ts';
import { buildPost } from './request.ts';
import { retryDelayMs } from './schedule.ts';
import { SEND_TIMEOUT_MS, type Send, type SendResult } from './send.ts';

export interface DispatcherOptions {
  outbox: Outbox;
  send: Send;
  clock: Clock;
  random: Random;
  calendar: () => Calendar;
  /** Told what a person should know: an endpoint that was disabled, a database that can't be written. */
  warn: (message: string) => void;
  /** The longest wait between two looks at the outbox: other processes write into it too. */
  pollMs?: number;
}

/** The loop over the outbox. */
export interface Dispatcher {
  start(): void;
  /** Claims no more, waits `graceMs` for the attempts in flight, gives up what is left, and resolves. */
  stop(graceMs?: number): Promise<void>;
  /** Says that an event may have been written. It costs next to nothing. */
  wake(): void;
}

/** The margin is for the event loop: an attempt that ends on time must be booked before another daemon takes it up. */
export const LEASE_MS = SEND_TIMEOUT_MS + 5_000;
const POLL_MS = 1_000;
const STOP_GRACE_MS = 2_000;

interface Flight {
  controller: AbortController;
  landed: Promise<void>;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { outbox, send, clock, random, calendar, warn, pollMs = POLL_MS } = options;
  /** By delivery. There is at most one for an endpoint: the outbox hands out only the head of its queue. */
  const flights = new Map<number, Flight>();
  let running = false;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let cancelTimer = () => {};
  let stuck = false;

  function wake(): void {
    if (!running) return;
    lookAgain = true;
    looking ??= lookUntilQuiet().finally(() => {
      looking = undefined;
      // A nudge that came too late for the last look, and before this one was over.
      if (lookAgain) wake();
    });
  }

  async function lookUntilQuiet(): Promise<void> {
    cancelTimer();
    let waitMs = pollMs;
    while (running && lookAgain) {
      lookAgain = false;
      // Nudges of one event-loop turn are answered by one look.
      await new Promise(setImmediate);
      waitMs = await look();
    }
    if (running) cancelTimer = clock.after(waitMs, wake);
  }

  /** Starts what is due, and tells how long it will be until the next look. */
  async function look(): Promise<number> {
    try {
      const dueAt = await outbox.nextDueAt();
      if (dueAt === undefined || dueAt > clock.now()) return waitFor(dueAt);
      for (const claim of await outbox.claim({ now: clock.now(), leaseMs: LEASE_MS })) launch(claim);
      stuck = false;
      return waitFor(await outbox.nextDueAt());
    } catch (error) {
      // Said once, not at every look until the database can be written again.
      if (!stuck) warn(`webhooks wait until the database can be written: ${messageOf(error)}`);
      stuck = true;
      return pollMs;
    }
  }

  function waitFor(dueAt: number | undefined): number {
    return dueAt === undefined ? pollMs : Math.max(0, Math.min(pollMs, dueAt - clock.now()));
  }

  function launch(claim: Claim): void {
    // Only a daemon that slept through its own lease meets its own claim again.
    flights.get(claim.id)?.controller.abort();
    const controller = new AbortController();
    const landed = deliver(claim, controller.signal)
      .catch((error: unknown) => warn(`webhook wh_${claim.endpointId}: ${messageOf(error)}`))
      .finally(() => {
        if (flights.get(claim.id)?.controller === controller) flights.delete(claim.id);
        wake();
      });
    flights.set(claim.id, { controller, landed });
  }

  async function deliver(claim: Claim, signal: AbortSignal): Promise<void> {
    // A process that was halted since its claim has no time left to send before another takes it up.
    const late = clock.now() > claim.lapsesAt - SEND_TIMEOUT_MS;
    const result = late ? undefined : await attempt(claim, signal);
    // An attempt that was not made, or cut short, tells nothing of the receiver: it does not count.
    if (result === undefined || (signal.aborted && !result.ok)) await outbox.release(claim, clock.now());
    else await book(claim, result);
  }

  async function attempt(claim: Claim, signal: AbortSignal): Promise<SendResult> {
    const now = clock.now();
    try {
      return await send({ ...buildPost(claim, { calendar: calendar(), now }), signal });
    } catch (error) {
      // An event that cannot be put into words must not hold up those behind it for good.
      const failure = { ok: false, status: null, response: null, retryAfterMs: 0, durationMs: 0 };
      return { ...failure, at: now, error: messageOf(error) };
    }
  }

  async function book(claim: Claim, { ok, retryAfterMs, ...attempt }: SendResult): Promise<void> {
    const now = clock.now();
    if (ok) {
      await outbox.delivered(claim, attempt, now);
      return;
    }
    const delayMs = retryDelayMs(claim.attempts + 1, retryAfterMs, random);
    if (delayMs !== undefined) {
      await outbox.retryAt(claim, attempt, now + delayMs);
      return;
    }
    const { disabled } = await outbox.failed(claim, attempt, now);
    if (disabled) warn(`webhook wh_${claim.endpointId} of ${claim.project} is disabled: ${disabled}`);
  }

  return {
    start() {
      running = true;
      wake();
    },
    async stop(graceMs = STOP_GRACE_MS) {
      running = false;
      cancelTimer();
      await looking;
      const landed = Promise.all([...flights.values()].map((flight) => flight.landed));
      const cancel = clock.after(graceMs, () => {
        for (const { controller } of flights.values()) controller.abort();
      });
      await landed;
      cancel();
    },
    wake,
  };
}
