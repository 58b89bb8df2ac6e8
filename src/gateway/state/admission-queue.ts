import type { Clock } from '../../clock.ts';
import type { Admission, AdmissionResult } from '../../store/ledger/admission.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';

/** Requests that wait for running ones of their line to free room, first come first served. */
export interface AdmissionQueue {
  /** As the ledger's `admit`, but `wait` comes back only when the time is up or nobody waits any more. */
  admit(admission: Admission, options: WaitOptions): Promise<AdmissionResult>;
  /** Room may have been freed for a line. */
  wake(line: LineKey): void;
}

export interface WaitOptions {
  maxWaitMs: number;
  /** Whether the client is still there. */
  wanted(): boolean;
}

type LineKey = NonNullable<Admission['queueKey']>;

interface Waiter {
  admission: Admission;
  options: WaitOptions;
  resolve: (result: AdmissionResult) => void;
  reject: (error: unknown) => void;
  last: AdmissionResult;
  expired: boolean;
  cancelTimer: () => void;
}

interface Line {
  waiters: Waiter[];
  pumping: boolean;
  again: boolean;
  cancelPoll: () => void;
}

/** How many at the head of a line are tried at once. */
const WINDOW = 64;
/** Room freed by other daemons on the database is noticed within this time. */
const POLL_MS = 100;

export function createAdmissionQueue(ledger: Pick<Ledger, 'admit'>, clock: Clock): AdmissionQueue {
  const lines = new Map<LineKey, Line>();
  const keyOf = ({ queueKey, projectId }: Admission): LineKey => queueKey ?? projectId;

  function join(admission: Admission, options: WaitOptions, last: AdmissionResult): Promise<AdmissionResult> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admission,
        options,
        resolve,
        reject,
        last,
        expired: false,
        cancelTimer: () => {},
      };
      waiter.cancelTimer = clock.after(options.maxWaitMs, () => {
        waiter.expired = true;
        pump(keyOf(admission));
      });
      lineOf(keyOf(admission)).waiters.push(waiter);
      pump(keyOf(admission));
    });
  }

  function lineOf(key: LineKey): Line {
    let line = lines.get(key);
    if (!line) {
      line = { waiters: [], pumping: false, again: false, cancelPoll: () => {} };
      lines.set(key, line);
    }
    return line;
  }

  function pump(key: LineKey): void {
    const line = lines.get(key);
    if (!line) return;
    if (line.pumping) {
      line.again = true;
      return;
    }
    line.pumping = true;
    line.cancelPoll();
    void drain(line).finally(() => {
      line.pumping = false;
      if (line.waiters.length === 0) lines.delete(key);
      else line.cancelPoll = clock.after(POLL_MS, () => pump(key));
    });
  }

  async function drain(line: Line): Promise<void> {
    do {
      line.again = false;
      // The ledger keeps the order within a batch: once one has to wait, those behind it wait too.
      const heads = line.waiters.slice(0, WINDOW);
      const outcomes = await Promise.allSettled(heads.map((waiter) => tryOnce(waiter)));
      const stay = heads.filter((waiter, i) => !leaves(waiter, outcomes[i]));
      const rest = line.waiters.slice(heads.length).filter((waiter) => !givesUp(waiter, stay[0]?.last));
      line.waiters = [...stay, ...rest];
      if (stay.length < heads.length && line.waiters.length > 0) line.again = true;
    } while (line.again);
  }

  function tryOnce(waiter: Waiter): Promise<AdmissionResult> {
    if (!waiter.options.wanted()) return Promise.resolve(waiter.last);
    return ledger.admit(waiter.admission);
  }

  /** Tells the waiter how it ended, if it did. */
  function leaves(waiter: Waiter, outcome: PromiseSettledResult<AdmissionResult> | undefined): boolean {
    if (!outcome) return false;
    if (outcome.status === 'fulfilled' && outcome.value.kind === 'wait') {
      waiter.last = outcome.value;
      if (!waiter.expired && waiter.options.wanted()) return false;
    }
    waiter.cancelTimer();
    if (outcome.status === 'fulfilled') waiter.resolve(outcome.value);
    else waiter.reject(outcome.reason);
    return true;
  }

  /** Ends a wait far behind the head of the line, where it has not been tried: what holds for the head holds for it. */
  function givesUp(waiter: Waiter, atHead: AdmissionResult | undefined): boolean {
    const wanted = waiter.options.wanted();
    const outcome = atHead ?? waiter.last;
    // One that was never tried is tried next, as nobody stands before it any more.
    if (wanted && (!waiter.expired || outcome.kind === 'needs_exact_count')) return false;
    waiter.cancelTimer();
    waiter.resolve(outcome);
    return true;
  }

  return {
    admit(admission, options) {
      if (lines.size > 0 && lines.has(keyOf(admission)) && admission.amount > 0 && !admission.unpriced) {
        if (!admission.isFinal) return Promise.resolve({ kind: 'needs_exact_count' });
        return join(admission, options, { kind: 'needs_exact_count' });
      }
      const result = ledger.admit(admission);
      if (!admission.isFinal) return result;
      return result.then((first) => (first.kind === 'wait' ? join(admission, options, first) : first));
    },
    wake: pump,
  };
}
