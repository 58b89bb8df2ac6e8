import type { Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import type { PastRequest } from './past-requests.ts';
import type { SimulatedTerms } from './simulated-accounts.ts';
import { createSimulatedBudget } from './simulated-budget.ts';
import { createTally } from './tally.ts';

interface Event extends TimelineEvent {
  request: PastRequest;
  costNanoUsd: NanoUsd;
}

/**
 * Replays a project's requests, pages in the order of arrival, against a cap. `exact`: every record says what it needed
 * and cost where it goes, and none was refused before that the cap would have admitted.
 */
export async function backtest(
  pages: AsyncIterable<PastRequest[]>,
  terms: SimulatedTerms,
  { calendar, onBlocked = () => {} }: { calendar: Calendar; onBlocked?: (request: PastRequest) => void },
) {
  const isEach = terms.scope?.kind === 'each';
  const timeline = createTimeline<Event>();
  const tally = createTally({ isEach });
  let waiting: PastRequest[] = [];
  let nowUs = 0;
  let exact = true;
  let now = terms.since;
  const budget = createSimulatedBudget(terms, {
    calendar,
    emit(type, _projectId, { kind }) {
      if (type === 'budget.threshold_reached' && kind === undefined) tally.alert(now);
    },
  });

  function enter(timeUs: number): void {
    nowUs = timeUs;
    now = Math.floor(timeUs / 1_000);
    tally.enter(budget.enter(now));
  }

  function ask(request: PastRequest): void {
    const placed = budget.admit(request);
    if (placed.own !== request || placed.here !== request) exact = false;
    if (placed.kind === 'held') {
      // It runs as long as it did.
      const timeUs = nowUs + request.settledUs - request.askedUs;
      timeline.add({ kind: 'settle', timeUs, request, costNanoUsd: placed.here.costNanoUsd });
      tally.fallBack(request, placed, now);
      if (request.wasBlocked) exact = false;
    } else if (placed.kind === 'blocked') {
      tally.block(request, placed, now);
      onBlocked(request);
    } else waiting.push(request);
  }

  function play(untilUs: number): void {
    for (let event = timeline.next(untilUs); event; event = timeline.next(untilUs)) {
      enter(event.timeUs);
      if (event.kind === 'settle') budget.settle(event.request.id, event.costNanoUsd);
      // Those that wait are asked first, in order.
      if (waiting.length > 0) {
        const asking = waiting;
        waiting = [];
        for (const request of asking) ask(request);
      }
      if (event.kind === 'ask') {
        tally.ask(event.request);
        ask(event.request);
      }
    }
  }

  for await (const page of pages) {
    for (const request of page) {
      if (isEach && request.member === '') continue;
      // Refusals that share a record have only the need of the first.
      if (!request.isNeedKnown || request.count > 1 || request.isFallen) exact = false;
      // Without a need, gw can't know if a refused request would have fitted.
      if (request.wasBlocked && !request.isNeedKnown) continue;
      timeline.add({ kind: 'ask', timeUs: request.askedUs, request, costNanoUsd: 0 });
    }
    const last = page.at(-1);
    // Later pages hold no request that was asked for before the last one here came in.
    if (last) play(last.startedUs);
  }
  play(Number.POSITIVE_INFINITY);
  return { exact, ...tally.result(budget) };
}

/** Something that happens at a time. At one time, settlements come first: they only make room. */
interface TimelineEvent {
  timeUs: number;
  kind: 'settle' | 'ask';
}

/**
 * Events in the order of their times. Those to come are few: requests that run, or were read ahead of their holds. Two
 * queues: in a single list, each settlement and each request read ahead would move all others.
 */
function createTimeline<T extends TimelineEvent>() {
  const settlements = createQueue<T>();
  const asks = createQueue<T>();
  return {
    add: (event: T) => (event.kind === 'settle' ? settlements : asks).add(event),
    /** The next event; undefined if none comes before `untilUs`. */
    next(untilUs: number): T | undefined {
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
