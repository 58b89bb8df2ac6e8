import type { Clock } from '../../clock.ts';
import type { StoredEvent } from '../../store/webhooks/follow.ts';

const GATHER_MS = 1_000;

/** Shows an event. `more` is set if it stands for several blocked requests: their number, and when the first came. */
export type Show = (event: StoredEvent, more?: { eventCount: number; since: number }) => void;

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
