import type { Clock } from '../../clock.ts';
import type { NotedWait } from '../../store/dashboard/running.ts';
import type { Admission, AdmissionResult } from '../../store/ledger/admission.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import type { Offer } from '../../store/ledger/offer.ts';

/** Requests that wait for room in a budget, first come, first served within a queue. */
export type AdmissionQueue = ReturnType<typeof createAdmissionQueue>;

interface WaitOptions {
  maxWaitMs: number;
  isConnected(): boolean;
}

type QueueKey = NonNullable<Admission['queueKey']>;

interface Waiter {
  /** On the leanest rung that is known by now. */
  admission: Admission;
  /** That rung, if it isn't the one that was asked for. */
  leaner: Offer | undefined;
  /** UTC milliseconds. */
  since: number;
  options: WaitOptions;
  resolve: (result: AdmissionResult) => void;
  reject: (error: unknown) => void;
  last: AdmissionResult;
  expired: boolean;
  cancelTimer: () => void;
}

interface Queue {
  waiters: Waiter[];
  draining: boolean;
  /** Woken while draining: drain once more. */
  drainAgain: boolean;
  cancelPoll: () => void;
}

/** Requests at the head of a queue that are tried at once. */
const BATCH_SIZE = 64;
/** After how many that were quoted anew a batch ends: it takes half a millisecond for a long prompt. */
const MAX_REQUOTED = 8;
/** How soon room is noticed that another daemon on the same database has freed. */
const POLL_MS = 100;
/** How often those that wait are noted for the dashboard. */
const NOTE_MS = 500;
/** More than a screen has room for. */
const MOST_NOTED = 50;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short functions over one map of queues
export function createAdmissionQueue(
  ledger: Pick<Ledger, 'admit'>,
  clock: Clock,
  note: (waiting: NotedWait[]) => void = () => {},
) {
  const queues = new Map<QueueKey, Queue>();
  const keyOf = ({ queueKey, projectId }: Admission): QueueKey => queueKey ?? projectId;
  let isNoting = false;

  /** Notes who waits, until nobody does. Short waits are not worth a write. */
  function noteSoon(): void {
    if (isNoting) return;
    isNoting = true;
    clock.after(NOTE_MS, () => {
      isNoting = false;
      note(firstOf(queues.values()));
      if (queues.size > 0) noteSoon();
    });
  }

  function join(admission: Admission, options: WaitOptions, last: AdmissionResult): Promise<AdmissionResult> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admission,
        leaner: undefined,
        since: clock.now(),
        options,
        resolve,
        reject,
        last,
        expired: false,
        cancelTimer: () => {},
      };
      waiter.cancelTimer = clock.after(options.maxWaitMs, () => {
        waiter.expired = true;
        wake(keyOf(admission));
      });
      goDown(waiter, last.offer);
      const { waiters } = queueOf(keyOf(admission));
      // Behind others it has no room before they have.
      if (waiters.push(waiter) === 1) wake(keyOf(admission));
      noteSoon();
    });
  }

  function queueOf(key: QueueKey): Queue {
    let queue = queues.get(key);
    if (!queue) {
      queue = { waiters: [], draining: false, drainAgain: false, cancelPoll: () => {} };
      queues.set(key, queue);
    }
    return queue;
  }

  /** Tries the requests of a queue again, because room may have been freed. */
  function wake(key: QueueKey): void {
    const queue = queues.get(key);
    if (!queue) return;
    if (queue.draining) {
      queue.drainAgain = true;
      return;
    }
    queue.draining = true;
    queue.cancelPoll();
    // Answers that were settled together are all learned from by then.
    setImmediate(async () => {
      await drain(queue);
      queue.draining = false;
      if (queue.waiters.length === 0) queues.delete(key);
      else queue.cancelPoll = clock.after(POLL_MS, () => wake(key));
    });
  }

  async function drain(queue: Queue): Promise<void> {
    do {
      queue.drainAgain = false;
      // The ledger keeps the order within a batch: once one request has to wait, those behind it wait too.
      const heads = requotedHeads(queue.waiters);
      const outcomes = await Promise.allSettled(heads.map(tryAdmit));
      const waiting = heads.filter((waiter, i) => !resolveIfDone(waiter, outcomes[i]));
      const rest = queue.waiters
        .slice(heads.length)
        .filter((waiter) => !resolveIfExpired(waiter, waiting[0]?.last));
      queue.waiters = [...waiting, ...rest];
      if (waiting.length < heads.length && queue.waiters.length > 0) queue.drainAgain = true;
    } while (queue.drainAgain);
  }

  async function tryAdmit(waiter: Waiter): Promise<AdmissionResult> {
    if (!waiter.options.isConnected()) return waiter.last;
    return ledger.admit(waiter.admission);
  }

  /** Resolves a waiter that the ledger has decided, or that has no reason to wait on; true if it did. */
  function resolveIfDone(
    waiter: Waiter,
    outcome: PromiseSettledResult<AdmissionResult> | undefined,
  ): boolean {
    if (!outcome) return false;
    if (outcome.status === 'fulfilled' && outcome.value.kind === 'wait') {
      waiter.last = outcome.value;
      goDown(waiter, outcome.value.offer);
      if (!waiter.expired && waiter.options.isConnected()) return false;
    }
    waiter.cancelTimer();
    if (outcome.status === 'fulfilled') waiter.resolve(withRung(waiter, outcome.value));
    else waiter.reject(outcome.reason);
    return true;
  }

  /** Resolves an expired waiter that was not in the batch, with the result at the head of the queue; true if it did. */
  function resolveIfExpired(waiter: Waiter, headResult: AdmissionResult | undefined): boolean {
    const isConnected = waiter.options.isConnected();
    const result = headResult ?? waiter.last;
    // A waiter that the ledger has never decided on is tried in the next batch, since no waiter is left before it.
    if (isConnected && (!waiter.expired || result.kind === 'needs_count')) return false;
    waiter.cancelTimer();
    waiter.resolve(withRung(waiter, result));
    return true;
  }

  return {
    /** The ledger's `admit`, but returns `wait` only after `maxWaitMs` or when the client has hung up. */
    admit(admission: Admission, options: WaitOptions): Promise<AdmissionResult> {
      if (
        queues.size > 0 &&
        queues.has(keyOf(admission)) &&
        admission.offer.amount > 0 &&
        !admission.offer.unpriced
      ) {
        if (!admission.isFinal) return Promise.resolve({ kind: 'needs_count' });
        return join(admission, options, { kind: 'needs_count' });
      }
      const result = ledger.admit(admission);
      if (!admission.isFinal) return result;
      return result.then((first) => (first.kind === 'wait' ? join(admission, options, first) : first));
    },
    wake,
    /** Tries the requests of all queues again. */
    wakeAll() {
      for (const key of queues.keys()) wake(key);
    },
  };
}

/** The request on the rung that was decided about. */
export const onRungOf = (admission: Admission, { offer }: AdmissionResult): Admission =>
  offer ? { ...admission, offer } : admission;

function goDown(waiter: Waiter, leaner: Offer | undefined): void {
  if (!leaner) return;
  waiter.leaner = leaner;
  waiter.admission = { ...waiter.admission, offer: leaner };
}

const withRung = ({ leaner }: Waiter, result: AdmissionResult): AdmissionResult =>
  leaner ? { offer: leaner, ...result } : result;

/** The next batch. None in it is admitted at a quote that could be lower by now. */
function requotedHeads(waiters: readonly Waiter[]): Waiter[] {
  let requoted = 0;
  const end = waiters.findIndex((waiter, i) => {
    if (i === BATCH_SIZE || requoted === MAX_REQUOTED) return true;
    const leaner = waiter.admission.requote?.();
    if (leaner) requoted++;
    goDown(waiter, leaner);
    return false;
  });
  return waiters.slice(0, end === -1 ? waiters.length : end);
}

function firstOf(queues: Iterable<Queue>): NotedWait[] {
  const rows: NotedWait[] = [];
  for (const { waiters } of queues) {
    for (const { admission, since } of waiters) {
      if (rows.length === MOST_NOTED) return rows;
      const { id, projectId, provider, model, agent = '', origin, offer } = admission;
      const { process = '', repo = '' } = origin ?? {};
      rows.push({
        id,
        timeMs: since,
        projectId,
        provider,
        model,
        agent,
        process,
        repo,
        neededNanoUsd: offer.least,
      });
    }
  }
  return rows;
}
