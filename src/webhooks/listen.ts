import type { Calendar } from '../calendar.ts';
import { type Clock, MAX_TIMER_MS } from '../clock.ts';
import type { Db } from '../store/database/open.ts';
import { followEvents, type StoredEvent } from '../store/webhooks/follow.ts';
import { buildPost } from './request.ts';
import type { Send, SendResult } from './send.ts';

/** Output of `gw webhooks listen`: an event, and the result of forwarding it. */
export type ListenOutput =
  | { kind: 'event'; event: StoredEvent }
  | { kind: 'forwarded'; event: StoredEvent; result: SendResult };

/** Forwards each event to a URL: signed with `secret`, in order, without retries. */
export interface Forward {
  url: string;
  secret: string;
  send: Send;
}

export interface ListenOptions {
  db: Db;
  clock: Clock;
  calendar: Calendar;
  /** Only this project's events. Default: all. */
  projectId?: number;
  /** Only events after this sequence number. Default: events after the first poll. */
  after?: number;
  forward?: Forward;
  signal: AbortSignal;
}

const POLL_MS = 200;

/** Yields events when any process commits them, until the signal aborts. */
export async function* listen(options: ListenOptions): AsyncGenerator<ListenOutput> {
  const { db, clock, projectId, after, signal } = options;
  // The clock's timers don't keep the process alive between two events.
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    const events = followEvents(db, { projectId, after, pause: () => pause(clock, signal), signal });
    for await (const event of events) {
      yield { kind: 'event', event };
      if (options.forward)
        yield { kind: 'forwarded', event, result: await forward(event, options.forward, options) };
    }
  } finally {
    clearInterval(keepAlive);
  }
}

function forward(
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
