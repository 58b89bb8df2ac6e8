import type { Calendar } from '../calendar.ts';
import { type Clock, MAX_TIMER_MS } from '../clock.ts';
import type { Db } from '../store/database/open.ts';
import { followEvents, type StoredEvent } from '../store/webhooks/follow.ts';
import { buildPost } from './request.ts';
import type { Send, SendResult } from './send.ts';

/** What `gw webhooks listen` tells: an event as it happens, and what came of forwarding it. */
export type Heard =
  | { kind: 'event'; event: StoredEvent }
  | { kind: 'forwarded'; event: StoredEvent; result: SendResult };

/** Where each event is sent to as well: signed with `secret`, once, in order, with no retries. */
export interface Forward {
  url: string;
  secret: string;
  send: Send;
}

export interface ListenOptions {
  db: Db;
  clock: Clock;
  calendar: Calendar;
  /** Only this project's events; default: all. */
  projectId?: number;
  /** Only events after this sequence number; default: those from the first look on. */
  after?: number;
  forward?: Forward;
  signal: AbortSignal;
}

const POLL_MS = 200;

/** Yields events as they are committed, whichever process writes them, until the signal aborts. */
export async function* listen(options: ListenOptions): AsyncGenerator<Heard> {
  const { db, clock, projectId, after, signal } = options;
  // The clock's timers let the process end, and between two events there is nothing else to keep it.
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    const followed = followEvents(db, {
      ...(projectId !== undefined && { projectId }),
      ...(after !== undefined && { after }),
      pause: () => pause(clock, signal),
      signal,
    });
    for await (const event of followed) {
      yield { kind: 'event', event };
      if (options.forward)
        yield { kind: 'forwarded', event, result: await forwarded(event, options.forward, options) };
    }
  } finally {
    clearInterval(keepAlive);
  }
}

function forwarded(
  event: StoredEvent,
  { url, secret, send }: Forward,
  options: ListenOptions,
): Promise<SendResult> {
  const { calendar, clock, signal } = options;
  const endpoint = { url, secret, format: 'json', oldSecret: null, oldSecretUntil: null } as const;
  const outgoing = { ...endpoint, ...event, eventId: event.id, eventAt: event.createdAt };
  return send({ ...buildPost(outgoing, { calendar, now: clock.now() }), signal });
}

function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(POLL_MS, done);
    signal.addEventListener('abort', done);
  });
}
