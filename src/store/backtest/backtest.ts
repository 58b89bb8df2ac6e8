import type { Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import type { PastRequest } from './past-requests.ts';
import { createSimulatedBudget, type SimulatedTerms } from './simulated-budget.ts';
import { createTimeline, type TimelineEvent } from './timeline.ts';

/** The requests of one client that the cap would have refused. */
export interface Stopped {
  keyId: number;
  agentId: number;
  sessionId: number;
  firstAt: number;
  blockedRequests: number;
  savedNanoUsd: NanoUsd;
}

/** What the cap would have done in one period. */
export interface BacktestPeriod {
  start: number;
  requests: number;
  spentNanoUsd: NanoUsd;
  /** When the alert would have been sent, and when the first request refused; undefined: never. */
  alertAt: number | undefined;
  stoppedAt: number | undefined;
  blockedRequests: number;
  /** What the refused requests have cost. */
  savedNanoUsd: NanoUsd;
  /** By client, the first to be refused first. */
  stopped: Stopped[];
}

export interface Backtest {
  /** Every record says what it needed, and none was refused before that the cap would have admitted. */
  exact: boolean;
  periods: BacktestPeriod[];
}

interface Event extends TimelineEvent {
  request: PastRequest;
}

/** Replays a project's requests, pages in the order of arrival, against a cap. */
export async function backtest(
  pages: AsyncIterable<PastRequest[]>,
  terms: SimulatedTerms,
  { calendar, onBlocked = () => {} }: { calendar: Calendar; onBlocked?: (request: PastRequest) => void },
): Promise<Backtest> {
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
      // Of refusals that share a record, only the need of the first is known.
      if (!request.isNeedKnown || request.count > 1) exact = false;
      // Without a need, nothing tells whether a refused request would have fitted.
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
