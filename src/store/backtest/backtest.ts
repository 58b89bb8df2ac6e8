import type { Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import type { PastRequest } from './past-requests.ts';
import { createSimulatedBudget, type SimulatedTerms } from './simulated-budget.ts';

/** The requests of one client that the cap would have refused. */
interface Stopped {
  keyId: number;
  agentId: number;
  sessionId: number;
  firstAt: number;
  blockedRequests: number;
  savedNanoUsd: NanoUsd;
}

/** Effect of the cap in one period. */
export interface BacktestPeriod {
  start: number;
  requests: number;
  spentNanoUsd: NanoUsd;
  /** When the alert would have been sent, and when the first request refused; undefined: never. */
  alertAt: number | undefined;
  stoppedAt: number | undefined;
  blockedRequests: number;
  /** Cost of the refused requests. */
  savedNanoUsd: NanoUsd;
  /** By client, the first to be refused first. */
  stopped: Stopped[];
}

interface Event extends TimelineEvent {
  request: PastRequest;
}

/**
 * Replays a project's requests, pages in the order of arrival, against a cap. `exact`: every record says what it needed,
 * and none was refused before that the cap would have admitted.
 */
export async function backtest(
  pages: AsyncIterable<PastRequest[]>,
  terms: SimulatedTerms,
  { calendar, onBlocked = () => {} }: { calendar: Calendar; onBlocked?: (request: PastRequest) => void },
) {
  const periods: BacktestPeriod[] = [];
  const timeline = createTimeline<Event>();
  const clients = new Map<string, Stopped>();
  let waiting: PastRequest[] = [];
  let nowUs = 0;
  let exact = true;
  let now = terms.since;
  let current: BacktestPeriod | undefined;
  const budget = createSimulatedBudget(terms, {
    calendar,
    emit(type) {
      if (type === 'budget.threshold_reached' && current) current.alertAt ??= now;
    },
  });

  function enter(timeUs: number): void {
    nowUs = timeUs;
    now = Math.floor(timeUs / 1_000);
    const start = budget.enter(now);
    if (current?.start === start) return;
    current = periodAt(start);
    periods.push(current);
    clients.clear();
  }

  function ask(request: PastRequest): void {
    switch (budget.admit(request)) {
      case 'held':
        // It runs as long as it did.
        timeline.add({ kind: 'settle', timeUs: nowUs + request.settledUs - request.askedUs, request });
        if (request.wasBlocked) exact = false;
        return;
      case 'blocked':
        block(request);
        return;
      default:
        waiting.push(request);
    }
  }

  function block(request: PastRequest): void {
    if (!current) return;
    const { keyId, agentId, sessionId, costNanoUsd, count } = request;
    current.stoppedAt ??= now;
    current.blockedRequests += count;
    current.savedNanoUsd += costNanoUsd;
    const name = `${keyId} ${agentId} ${sessionId}`;
    let client = clients.get(name);
    if (!client) {
      client = { keyId, agentId, sessionId, firstAt: now, blockedRequests: 0, savedNanoUsd: 0 };
      clients.set(name, client);
      current.stopped.push(client);
    }
    client.blockedRequests += count;
    client.savedNanoUsd += costNanoUsd;
    onBlocked(request);
  }

  function play(untilUs: number): void {
    for (let event = timeline.next(untilUs); event; event = timeline.next(untilUs)) {
      enter(event.timeUs);
      if (event.kind === 'settle') budget.settle(event.request);
      // Those that wait are asked first, in order.
      if (waiting.length > 0) {
        const asking = waiting;
        waiting = [];
        for (const request of asking) ask(request);
      }
      if (event.kind === 'ask' && current) {
        current.requests += event.request.count;
        ask(event.request);
      }
    }
  }

  for await (const page of pages) {
    for (const request of page) {
      // Refusals that share a record have only the need of the first.
      if (!request.isNeedKnown || request.count > 1) exact = false;
      // Without a need, gw can't know if a refused request would have fitted.
      if (request.wasBlocked && !request.isNeedKnown) continue;
      timeline.add({ kind: 'ask', timeUs: request.askedUs, request });
    }
    const last = page.at(-1);
    // Later pages hold no request that was asked for before the last one here came in.
    if (last) play(last.startedUs);
  }
  play(Number.POSITIVE_INFINITY);
  for (const period of periods) period.spentNanoUsd = budget.spentIn(period.start);
  return { exact, periods: periods.filter(({ requests }) => requests > 0) };
}

function periodAt(start: number): BacktestPeriod {
  return {
    start,
    requests: 0,
    spentNanoUsd: 0,
    alertAt: undefined,
    stoppedAt: undefined,
    blockedRequests: 0,
    savedNanoUsd: 0,
    stopped: [],
  };
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

interface ClientNames {
  /** The label of the key, or its last characters. */
  key: string | null;
  agent: string | null;
  session: string | null;
}

/** Looks up the names of clients that a cap would have stopped; null where they aren't known. */
export function createClientNames(
  db: Db,
): (client: Pick<Stopped, 'keyId' | 'agentId' | 'sessionId'>) => ClientNames {
  const key = db.prepare<[number], string>('SELECT coalesce(label, hint) FROM keys WHERE id = ?').pluck();
  const agent = db.prepare<[number], string>('SELECT name FROM names WHERE id = ?').pluck();
  const session = db.prepare<[number], string>('SELECT external_id FROM sessions WHERE id = ?').pluck();
  return ({ keyId, agentId, sessionId }) => ({
    key: key.get(keyId) ?? null,
    agent: agent.get(agentId) || null,
    session: session.get(sessionId) || null,
  });
}
