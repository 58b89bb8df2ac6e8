/** Something that happens at a time. At one time, settlements come first: they only make room. */
export interface TimelineEvent {
  timeUs: number;
  kind: 'settle' | 'ask';
}

/** Events in the order of their times. Those to come are few: requests that run, or were read ahead of their holds. */
export interface Timeline<T extends TimelineEvent> {
  add(event: T): void;
  /** The next event; undefined if none comes before `untilUs`. */
  next(untilUs: number): T | undefined;
}

/** Two queues: in a single list, each settlement and each request read ahead would move all others. */
export function createTimeline<T extends TimelineEvent>(): Timeline<T> {
  const settlements = createQueue<T>();
  const asks = createQueue<T>();
  return {
    add: (event) => (event.kind === 'settle' ? settlements : asks).add(event),
    next(untilUs) {
      const [settlement, ask] = [settlements.timeUs(), asks.timeUs()];
      const [first, timeUs] = settlement <= ask ? [settlements, settlement] : [asks, ask];
      return timeUs < untilUs ? first.take() : undefined;
    },
  };
}

const TAKEN = 4_096;

/** Events in the order of their times, equal ones as they were added. Most are added near the end. */
function createQueue<T extends TimelineEvent>() {
  const events: T[] = [];
  let first = 0;
  return {
    add(event: T): void {
      let at = events.length;
      while (at > first && (events[at - 1]?.timeUs ?? 0) > event.timeUs) at--;
      if (at === events.length) events.push(event);
      else events.splice(at, 0, event);
    },
    /** When the first one happens; Infinity without any. */
    timeUs: () => events[first]?.timeUs ?? Number.POSITIVE_INFINITY,
    take(): T | undefined {
      const event = events[first++];
      if (first === TAKEN || first === events.length) {
        events.splice(0, first);
        first = 0;
      }
      return event;
    },
  };
}
