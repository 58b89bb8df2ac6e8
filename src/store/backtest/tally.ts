import { remembered } from '../../json/grouped.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { targetName } from '../ledger/terms.ts';
import type { PastRequest, Served } from './past-requests.ts';
import type { createSimulatedBudget, Placed } from './simulated-budget.ts';

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
  /** When the alert would have been sent, the first request been hit, and the first refused; undefined: never. */
  alertAt: number | undefined;
  hitAt: number | undefined;
  stoppedAt: number | undefined;
  blockedRequests: number;
  /** Requests that would have gone to a cheaper model. */
  fallbackRequests: number;
  /** Cost of the refused requests, and what cheaper models would have saved. */
  savedNanoUsd: NanoUsd;
  /** By client, the first to be refused first. */
  stopped: Stopped[];
}

/** Effect of a cap for each on one of its members. */
export interface BacktestMember {
  name: string;
  requests: number;
  spentNanoUsd: NanoUsd;
  blockedRequests: number;
  fallbackRequests: number;
  savedNanoUsd: NanoUsd;
  /** When its first request would have been refused or gone to a cheaper model. */
  hitAt: number | undefined;
}

/** What would have gone to a cheaper model. */
export interface BacktestFallback extends Served {
  requests: number;
  costNanoUsd: NanoUsd;
  /** What these requests cost with their own models. */
  ownNanoUsd: NanoUsd;
}

/** Counts what a cap does to past requests: in each period, to each member, and at each cheaper model. */
export function createTally({ isEach }: { isEach: boolean }) {
  const periods: BacktestPeriod[] = [];
  const clients = new Map<string, Stopped>();
  const members = new Map<string, BacktestMember>();
  const fallbacks = new Map<string, BacktestFallback>();
  let current = periodAt(0);

  function memberOf({ member: name }: PastRequest): BacktestMember | undefined {
    if (!isEach) return undefined;
    return remembered(members, name, () => ({ name, ...NOTHING, hitAt: undefined }));
  }

  /** The running period, and the member that counts a request. */
  function countingIn(request: PastRequest) {
    const member = memberOf(request);
    return member ? [current, member] : [current];
  }

  return {
    enter(start: number): void {
      if (current.start === start) return;
      current = periodAt(start);
      periods.push(current);
      clients.clear();
    },
    alert(now: number): void {
      current.alertAt ??= now;
    },
    ask(request: PastRequest): void {
      for (const each of countingIn(request)) each.requests += request.count;
    },
    fallBack(request: PastRequest, { own, here, target }: Placed, now: number): void {
      if (!target) return;
      const none = { ...target, requests: 0, costNanoUsd: 0, ownNanoUsd: 0 };
      const fallback = remembered(fallbacks, targetName(target), () => none);
      fallback.requests++;
      fallback.costNanoUsd += here.costNanoUsd;
      fallback.ownNanoUsd += own.costNanoUsd;
      for (const each of countingIn(request)) {
        each.hitAt ??= now;
        each.fallbackRequests++;
        each.savedNanoUsd += own.costNanoUsd - here.costNanoUsd;
      }
    },
    block(request: PastRequest, { own }: Placed, now: number): void {
      const { keyId, agentId, sessionId, count } = request;
      current.stoppedAt ??= now;
      const name = `${keyId} ${agentId} ${sessionId}`;
      let client = clients.get(name);
      if (!client) {
        client = { keyId, agentId, sessionId, firstAt: now, blockedRequests: 0, savedNanoUsd: 0 };
        clients.set(name, client);
        current.stopped.push(client);
      }
      for (const each of [client, ...countingIn(request)]) {
        if ('hitAt' in each) each.hitAt ??= now;
        each.blockedRequests += count;
        each.savedNanoUsd += own.costNanoUsd;
      }
    },
    result({ spentIn, spentBy }: Pick<ReturnType<typeof createSimulatedBudget>, 'spentIn' | 'spentBy'>) {
      for (const period of periods) period.spentNanoUsd = spentIn(period.start);
      for (const member of members.values()) member.spentNanoUsd = spentBy(member.name);
      return {
        periods: periods.filter(({ requests }) => requests > 0),
        members: [...members.values()],
        fallbacks: [...fallbacks.values()],
      };
    },
  };
}

const NOTHING = { requests: 0, spentNanoUsd: 0, blockedRequests: 0, fallbackRequests: 0, savedNanoUsd: 0 };

const periodAt = (start: number): BacktestPeriod => ({
  start,
  ...NOTHING,
  alertAt: undefined,
  hitAt: undefined,
  stoppedAt: undefined,
  stopped: [],
});

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
