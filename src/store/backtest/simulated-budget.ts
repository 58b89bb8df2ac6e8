import type { Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import { NO_USAGE } from '../../usage.ts';
import type { Account } from '../ledger/account.ts';
import { type Admission, type AdmissionResult, createAdmissions } from '../ledger/admission.ts';
import type { EmitEvent } from '../ledger/events.ts';
import type { Hold } from '../ledger/journal.ts';
import type { RequestRecord } from '../ledger/record.ts';
import type { FallenConversation, Standing } from '../ledger/standing.ts';
import { fallNow } from '../ledger/terms.ts';
import type { PastRequest, Served } from './past-requests.ts';
import { createAccounts, type Priced, type SimulatedTerms, unused } from './simulated-accounts.ts';

/** What becomes of a request. */
export interface Placed {
  kind: AdmissionResult['kind'];
  /** What it needs and costs with its own model, and where it goes: the request itself if both are on record. */
  own: Priced;
  here: Priced;
  /** The cheaper model. */
  target?: Served;
}

type Ways = Pick<Admission, 'mayFallBack' | 'fallenFrom'>;

/** Asks for room in the accounts of a simulated budget, with the ledger's own admission. */
function createTries({ projectId, scope }: SimulatedTerms, accounts: ReturnType<typeof createAccounts>) {
  const isOfClients = scope !== undefined && scope.kind !== 'key' && scope.value !== 'key';
  const holds = new Map<number, Hold>();
  /** The account that counts the request that is being admitted. */
  let counting: Account | undefined;
  const admissions = createAdmissions({
    slot: 0,
    balances: {
      standingsFor: () => (counting ? [counting.standing()] : []),
      reserve: (_request, amount) => (counting ? [counting.reserve(amount)] : []),
      post: unused,
      leave: unused,
      exceed: () => counting?.emitExceeded(),
      fallBack: (_projectId, id) => accounts.byId(id)?.emitFallback(),
    },
    journal: { open: (_slot, { id }, hold) => holds.set(id, hold), reopen: unused, holdOf: unused },
    emitBlocked() {},
    writeRecord: () => undefined,
    now: accounts.now,
  });
  const head = { id: 0, projectId, keyId: 0, endpoint: '', provider: '', model: '', askedModel: '' };
  /** One of each for all requests, a million of them: nothing keeps it. */
  const refused: RequestRecord = { ...head, ...BLOCKED };
  const admission: Admission = {
    ...head,
    stream: false,
    offer: { amount: 0, least: 0, blockedRecord: () => refused },
    isFinal: true,
  };

  function tryAt(request: PastRequest, target: Served | undefined, need: NanoUsd, ways: Ways) {
    counting = accounts.at(request, target);
    admission.id = request.id;
    admission.keyId = request.keyId;
    // As a gateway has it: a queue for a project or a key, or for each session under other caps.
    admission.queueKey = isOfClients ? request.sessionId : request.member;
    admission.offer.amount = need;
    admission.offer.least = need;
    admission.mayFallBack = ways.mayFallBack;
    admission.fallenFrom = ways.fallenFrom;
    return admissions.admit(admission);
  }

  return { tryAt, holds, endBatch: admissions.endBatch };
}

/** A budget that exists in memory alone, with the ledger's own accounts and admission. */
export function createSimulatedBudget(
  terms: SimulatedTerms,
  { calendar, emit }: { calendar: Calendar; emit: EmitEvent },
) {
  const { cheaper } = terms;
  const accounts = createAccounts(terms, { calendar, emit });
  const { tryAt, holds, endBatch } = createTries(terms, accounts);
  /** The sessions whose requests have gone to a cheaper model. */
  const fallen = new Map<number, FallenConversation>();
  /** The requests that found no room at a cheaper model, and keep to their own. */
  const kept = new Set<number>();

  /** Sends a request to the first cheaper model that has room; undefined: it keeps to its own. */
  function fallBack(request: PastRequest, own: Priced, { budget }: Standing): Placed | undefined {
    for (const target of cheaper?.targets ?? []) {
      if (request.work && isSame(request.work.asked, target)) continue;
      const here = pricedAt(request, target);
      if (!here) continue;
      if (tryAt(request, target, here.needNanoUsd, { fallenFrom: budget.id }).kind !== 'held') continue;
      const fall = { budgetId: budget.id, ...fallNow(budget, accounts.now()) };
      if (request.sessionId !== 0) fallen.set(request.sessionId, fall);
      return { kind: 'held', own, here, target };
    }
    return undefined;
  }

  const pricedAt = (request: PastRequest, target: Served | undefined): Priced | undefined =>
    !target || (request.work && isSame(request.work.served, target))
      ? request
      : cheaper?.priceAt(request, target);

  return {
    /** Enters a time, not before the last one, and returns the start of the running period. */
    enter(timeMs: number): number {
      endBatch();
      return accounts.enter(timeMs);
    },
    admit(request: PastRequest): Placed {
      const asked = request.work?.asked;
      const own = pricedAt(request, asked) ?? request;
      const before = fallen.get(request.sessionId);
      const mayFallBack = cheaper && !kept.has(request.id) ? { before } : undefined;
      const first = tryAt(request, asked, own.needNanoUsd, { mayFallBack });
      if (first.kind !== 'fallback') return { kind: first.kind, own, here: own };
      const [full] = first.standings;
      const placed = full && fallBack(request, own, full);
      if (placed) return placed;
      kept.add(request.id);
      return { kind: tryAt(request, asked, own.needNanoUsd, {}).kind, own, here: own };
    },
    /** Books the cost of an admitted request in the period of its hold. */
    settle(id: number, costNanoUsd: NanoUsd) {
      const hold = holds.get(id);
      holds.delete(id);
      for (const [accountId, start] of hold?.charges ?? []) {
        const account = accounts.byId(accountId);
        account?.enterBatch();
        account?.post(start, hold?.amount ?? 0, costNanoUsd);
        if (costNanoUsd > 0 && account?.isRunning(start)) account.emitReached();
      }
    },
    spentIn: accounts.spentIn,
    spentBy: accounts.spentBy,
  };
}

const isSame = (one: Served, other: Served): boolean =>
  one.provider === other.provider && one.model === other.model;

const BLOCKED: Omit<
  RequestRecord,
  'id' | 'projectId' | 'keyId' | 'endpoint' | 'provider' | 'model' | 'askedModel'
> = {
  status: 402,
  outcome: 'blocked',
  flags: 0,
  usage: NO_USAGE,
  costNanoUsd: 0,
  savedTokens: 0,
  savedNanoUsd: 0,
  durationMs: 0,
  firstByteMs: null,
};
