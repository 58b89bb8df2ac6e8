/** Something that happens at a time. At one time, settlements come first: they only make room. */
export interface TimelineEvent {
  timeMs: number;
  kind: 'settle' | 'ask';
}

/** Events in the order of their times. Those to come are few: requests that run, or were read ahead of their holds. */
export interface Timeline<T extends TimelineEvent> {
  add(event: T): void;
  /** The next event; undefined if none comes before `untilMs`. */
  next(untilMs: number): T | undefined;
}

export function createTimeline<T extends TimelineEvent>(): Timeline<T> {
  /** The next one is the last. */
  const events: T[] = [];
  const isLater = (a: T, b: T) =>
    a.timeMs > b.timeMs || (a.timeMs === b.timeMs && a.kind === 'ask' && b.kind === 'settle');

  return {
    add(event) {
      // Equal events keep their order, so the new one goes before them.
      let low = 0;
      let high = events.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        const other = events[middle];
        if (other && isLater(other, event)) low = middle + 1;
        else high = middle;
      }
      events.splice(low, 0, event);
    },
    next(untilMs) {
      const event = events.at(-1);
      return event && event.timeMs < untilMs ? events.pop() : undefined;
    },
  };
}
