import type { Clock } from '../../clock.ts';
import type { StoredEvent } from '../../store/webhooks/follow.ts';

const GATHER_MS = 1_000;

/** What is shown of events: one, or how many blocked requests came after the one that was shown, and since when. */
export type Show = (event: StoredEvent, more?: { eventCount: number; since: number }) => void;

interface Gathered {
  count: number;
  since: number;
  last: StoredEvent;
}

/**
 * Shows each event, but of blocked requests only the first at once: a client that is refused asks again and again.
 * Those that follow within a second are shown as one, for each project, as long as more come.
 */
export function gatherBlocked(clock: Pick<Clock, 'after'>, show: Show) {
  /** By project: what came since the last line; undefined: nothing yet. */
  const open = new Map<string, { gathered: Gathered | undefined; cancel: () => void }>();

  function wait(project: string): void {
    open.set(project, { gathered: undefined, cancel: clock.after(GATHER_MS, () => close(project)) });
  }

  function close(project: string): void {
    if (flush(project)) wait(project);
  }

  function flush(project: string): boolean {
    const found = open.get(project);
    open.delete(project);
    found?.cancel();
    const { gathered } = found ?? {};
    if (gathered === undefined) return false;
    show(gathered.last, { eventCount: gathered.count, since: gathered.since });
    return true;
  }

  return {
    add(event: StoredEvent): void {
      const { project, createdAt } = event;
      const found = open.get(project);
      if (event.type !== 'request.blocked') {
        // What came before it is told before it.
        flush(project);
        show(event);
      } else if (found) {
        const { count = 0, since = createdAt } = found.gathered ?? {};
        found.gathered = { count: count + 1, since, last: event };
      } else {
        show(event);
        wait(project);
      }
    },
    /** Shows what is left. */
    end(): void {
      for (const project of [...open.keys()]) flush(project);
    },
  };
}
