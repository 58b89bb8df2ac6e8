import { createCalendar } from '../../calendar.ts';
import type { Clock } from '../../clock.ts';
import { newestSequence, type StoredEvent } from '../../store/webhooks/follow.ts';
import { clean, escapeJson, safeJson, shorten, widthOf } from '../../terminal/text.ts';
import { createTimeFormat, duration } from '../../terminal/time.ts';
import { eventBody } from '../../webhooks/event-body.ts';
import { describe } from '../../webhooks/format/message.ts';
import { type Forward, type ListenOutput, listen } from '../../webhooks/listen.ts';
import { createSend, type SendResult } from '../../webhooks/send.ts';
import { newWebhookSecret } from '../../webhooks/sign.ts';
import { parseChange } from '../../webhooks/validate.ts';
import { type Context, note, say, screenOf } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { EXIT, Exit } from '../exit.ts';
import { networkOf, readSettings } from '../settings.ts';
import { projectFilter, withStore } from '../with-store.ts';
import { policyInForce } from './local-service.ts';

interface ListenOptions {
  forwardTo?: string;
  project?: string;
  json?: boolean;
}

/** Prints events as they happen until Ctrl-C, and forwards them with `--forward-to`. */
export async function listenToEvents(context: Context, options: ListenOptions): Promise<never> {
  const forward = options.forwardTo === undefined ? undefined : await forwardTo(context, options.forwardTo);
  const calendar = createCalendar(readSettings(context).settings.timezone);
  const format = options.json ? jsonOf : textFormat(context, calendar, forward);
  const print = (item: ListenOutput, more?: Parameters<Show>[1]) => say(context, format(item, more));
  const printer = gatherBlocked(context.clock, (event, more) => print({ kind: 'event', event }, more));
  // Not for scripts, which count lines, nor for forwarded events, each of which has a response.
  const groupsBlocked = context.stdout.isTTY === true && !options.json && !forward;
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once('SIGINT', interrupt);
  try {
    await withStore(context, async (db) => {
      const events = listen({
        db,
        clock: context.clock,
        calendar,
        // Set before the "events appear" message, so that no later event is missed.
        after: newestSequence(db),
        ...projectFilter(db, options.project),
        ...(forward ? { forward } : {}),
        signal: stop.signal,
      });
      await sayReady(context, options, forward);
      for await (const each of events) {
        if (groupsBlocked) printer.add(each.event);
        else print(each);
      }
      printer.end();
    });
  } finally {
    process.off('SIGINT', interrupt);
  }
  throw new Exit(EXIT.interrupted);
}

/** Accepts an address without a scheme, such as `localhost:3000/hook`. */
async function forwardTo(context: Context, text: string): Promise<Forward> {
  const policy = await policyInForce(context);
  const url = text.includes('://') ? text : `http://${text}`;
  parseChange({ url }, policy, 'json');
  return {
    url: new URL(url).href,
    secret: newWebhookSecret(),
    send: createSend({ policy: () => policy, network: () => networkOf(context), clock: context.clock }),
  };
}

async function sayReady(
  context: Context,
  { project, json }: ListenOptions,
  forward: Forward | undefined,
): Promise<void> {
  const { kind } = await findDaemon(context);
  if (json) {
    const forwarding = forward ? { forward_to: forward.url, secret: forward.secret } : {};
    say(context, safeJson({ kind: 'listening', project_id: project ?? null, ...forwarding }));
    return;
  }
  if (kind !== 'running') note(context, 'gw is not running, so no events come yet. Run: gw start');
  if (forward) {
    note(context, `Forwarding to ${forward.url}, signed with this secret, for this session only:`);
    note(context, `  ${forward.secret}`);
  }
  note(
    context,
    `Events of ${project === undefined ? 'all projects' : `project ${project}`} appear here as they happen. To stop: Ctrl-C`,
  );
}

interface StyledText {
  text: string;
  paint: (text: string) => string;
}

/** Formats an event, or the response of its receiver, as a line. */
function textFormat(
  context: Context,
  calendar: ReturnType<typeof createCalendar>,
  forward: Forward | undefined,
): (item: ListenOutput, more?: Parameters<Show>[1]) => string {
  const { palette, columns, symbols } = screenOf(context);
  const times = createTimeFormat(calendar.timezone);
  /** The id is left out on a terminal without room for it. */
  const line = (arrow: string, head: StyledText, event: StoredEvent, rest: string) => {
    const time = times.time(context.clock.now());
    const room = columns - widthOf(`${time}  ${arrow} ${head.text}  `);
    const text = clean(rest);
    const isScreen = context.stdout.isTTY === true;
    const id = !isScreen || widthOf(text) + 2 + event.id.length <= room ? `  ${palette.dim(event.id)}` : '';
    const shown = isScreen ? shorten(text, Math.max(8, room), symbols.ellipsis) : text;
    return `${palette.dim(time)}  ${arrow} ${head.paint(head.text)}  ${shown}${id}`;
  };
  return (item, more) => {
    const { event } = item;
    if (item.kind === 'event') {
      return line(
        '-->',
        { text: event.type, paint: palette.bold },
        event,
        `${event.project}  ${describe(event, { calendar, ...more }).title}`,
      );
    }
    const { result } = item;
    const answer = answerOf(result);
    return line(
      '<--',
      { text: answer, paint: result.ok ? (text) => text : palette.warn },
      event,
      `POST ${forward?.url ?? ''}  ${duration(result.durationMs)}`,
    );
  };
}

const answerOf = ({ status, error }: SendResult): string => clean(error ?? String(status));

function jsonOf(item: ListenOutput): string {
  const { event } = item;
  // The same body that a webhook with format json gets.
  if (item.kind === 'event') return escapeJson(`{"kind":"event","event":${eventBody(event)}}`);
  const { ok, status, error, response, durationMs } = item.result;
  return safeJson({
    kind: 'forwarded',
    event_id: event.id,
    delivered: ok,
    response_status: status,
    response_body: response,
    error,
    duration_ms: durationMs,
  });
}

const GATHER_MS = 1_000;

/** Shows an event. `more` is set if it stands for several blocked requests: their number, and when the first came. */
type Show = (event: StoredEvent, more?: { eventCount: number; since: number }) => void;

interface Batch {
  count: number;
  since: number;
  last: StoredEvent;
}

/**
 * Shows events at once, except for repeated blocked requests, because refused clients retry in loops. After the first
 * one of a project, those of each following second are shown as one, until a second passes without any.
 */
export function gatherBlocked(clock: Pick<Clock, 'after'>, show: Show) {
  /** By project: the blocked requests since the last shown line, undefined if there are none. */
  const open = new Map<string, { batch: Batch | undefined; cancel: () => void }>();

  function wait(project: string): void {
    open.set(project, { batch: undefined, cancel: clock.after(GATHER_MS, () => close(project)) });
  }

  function close(project: string): void {
    if (flush(project)) wait(project);
  }

  function flush(project: string): boolean {
    const window = open.get(project);
    open.delete(project);
    window?.cancel();
    const { batch } = window ?? {};
    if (batch === undefined) return false;
    show(batch.last, { eventCount: batch.count, since: batch.since });
    return true;
  }

  return {
    add(event: StoredEvent): void {
      const { project, createdAt } = event;
      const window = open.get(project);
      if (event.type !== 'request.blocked') {
        // Earlier blocked requests are shown before this event.
        flush(project);
        show(event);
      } else if (window) {
        const { count = 0, since = createdAt } = window.batch ?? {};
        window.batch = { count: count + 1, since, last: event };
      } else {
        show(event);
        wait(project);
      }
    },
    /** Shows the blocked requests that are still waiting. */
    end(): void {
      for (const project of [...open.keys()]) flush(project);
    },
  };
}
