import type { Calendar } from '../../calendar.ts';
import { NO_USAGE } from '../../usage.ts';
import { Account } from '../ledger/account.ts';
import { type Admission, type AdmissionResult, createAdmissions } from '../ledger/admission.ts';
import type { BalanceRow } from '../ledger/balance-rows.ts';
import type { EmitEvent } from '../ledger/events.ts';
import type { Hold } from '../ledger/journal.ts';
import type { RequestRecord } from '../ledger/record.ts';
import { type BudgetPeriod, type BudgetTerms, spanOf } from '../ledger/terms.ts';
import type { PastRequest } from './past-requests.ts';

export interface SimulatedTerms {
  projectId: number;
  capNanoUsd: number;
  period: Exclude<BudgetPeriod, 'rolling'>;
  /** When the budget is set. UTC milliseconds. */
  since: number;
}

export const DEFAULT_ALERT_PERCENT = 80;

/** A budget that exists in memory alone, with the ledger's own account and admission. */
export function createSimulatedBudget(
  terms: SimulatedTerms,
  { calendar, emit }: { calendar: Calendar; emit: EmitEvent },
) {
  const { projectId } = terms;
  const balances = new Map<number, BalanceRow>();
  const holds = new Map<number, Hold>();
  const context = {
    rows: {
      read: (_id: number, start: number) => balanceAt(balances, start),
      write: () => undefined,
      advance: () => undefined,
      advanceTeam: unused,
      fall: () => undefined,
      endRaises: unused,
      listenersOf: unused,
    },
    windowRows: { sum: unused, write: unused, highestAlert: unused, isMarked: unused },
    team: { period: unused, figures: unused },
    calendar: () => calendar,
    emit,
    now: terms.since,
    batch: 0,
    changed: new Set<Account>(),
  };
  const account = new Account(context, termsOf(terms, calendar));
  const admissions = createAdmissions({
    slot: 0,
    balances: {
      standingsFor: () => [account.standing()],
      reserve: (_request, amount) => [account.reserve(amount)],
      post: unused,
      leave: unused,
      exceed: () => account.emitExceeded(),
      fallBack: () => account.emitFallback(),
    },
    journal: { open: (_slot, { id }, hold) => holds.set(id, hold), reopen: unused, holdOf: unused },
    emitBlocked() {},
    writeRecord: () => undefined,
    now: () => context.now,
  });

  const head = { id: 0, projectId, keyId: 0, endpoint: '', provider: '', model: '', askedModel: '' };
  /** One for all requests, a million of them: nothing keeps it. */
  const admission: Admission = {
    ...head,
    stream: false,
    amount: 0,
    least: 0,
    isFinal: true,
    blockedRecord: () => ({ ...head, ...BLOCKED }),
  };

  return {
    /** Enters a time, not before the last one, and returns the start of the running period. */
    enter(timeMs: number): number {
      context.now = timeMs;
      context.batch++;
      account.enterBatch();
      admissions.endBatch();
      return account.budget.currentStart;
    },
    admit({ id, keyId, needNanoUsd }: PastRequest): AdmissionResult['kind'] {
      admission.id = id;
      admission.keyId = keyId;
      admission.amount = needNanoUsd;
      admission.least = needNanoUsd;
      return admissions.admit(admission).kind;
    },
    /** Books the cost of an admitted request in the period of its hold. */
    settle({ id, costNanoUsd }: PastRequest) {
      const hold = holds.get(id);
      holds.delete(id);
      for (const [, start] of hold?.charges ?? []) {
        account.post(start, hold?.amount ?? 0, costNanoUsd);
        if (costNanoUsd > 0 && account.isRunning(start)) account.emitReached();
      }
    },
    /** Spend in the period that starts at `start`. */
    spentIn: (start: number): number => balanceAt(balances, start).posted,
  };
}

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

function termsOf({ projectId, capNanoUsd, period, since }: SimulatedTerms, calendar: Calendar): BudgetTerms {
  return {
    id: 1,
    projectId,
    projectName: '',
    period,
    windowMs: null,
    capNanoUsd,
    alertPercent: DEFAULT_ALERT_PERCENT,
    alertPercents: '',
    capVersion: 1,
    projects: '',
    runaway: 'alert',
    raisedNanoUsd: 0,
    raisedUntil: null,
    currentStart: period === 'lifetime' ? since : spanOf(period, since, calendar).start,
    repo: '',
    scopeKind: '',
    scopeValue: '',
    keyId: 0,
    parentId: 0,
    teamBudgetId: null,
    onLimit: 'block',
    fallback: '',
    fallbackPercent: 100,
    fallbackVersion: 0,
    fallbackStart: 0,
    removed: 0,
  };
}

function balanceAt(balances: Map<number, BalanceRow>, start: number): BalanceRow {
  let row = balances.get(start);
  if (!row) {
    row = { start, posted: 0, pending: 0, thresholdVersion: 0, exceededVersion: 0, thresholdPercent: 0 };
    balances.set(start, row);
  }
  return row;
}

function unused(): never {
  throw new Error('a simulated budget has no window, no team and no raises');
}
