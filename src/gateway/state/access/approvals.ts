import type { Clock } from '../../../clock.ts';

/** The requests that wait for their owner's answer, and when they look for it. */
export type Approvals = ReturnType<typeof createApprovals>;

const LOOK_MS = 200;
const MAX_WAITING = 200;
/** People hang up at any time; a client's own limit ends two waits after the same time, and is some seconds. */
const SAME_MS = 300;
const LEAST_LIMIT_MS = 5_000;
const MAX_CLIENTS = 1_000;

export function createApprovals(clock: Pick<Clock, 'after'>) {
  let waiting = 0;
  let isEnded = false;
  let looking: (() => void)[] = [];
  let cancel = () => {};
  /** The last wait of each client, and its limit once two waits have shown it. */
  const clients = new Map<string, { lastMs: number; limitMs: number }>();

  function wake(): void {
    const woken = looking;
    looking = [];
    for (const look of woken) look();
  }

  return {
    /** No more may wait: each keeps its body in memory, and looks for its answer. */
    get isFull(): boolean {
      return waiting >= MAX_WAITING;
    },
    /** Nothing waits any more: the daemon stops. */
    get isEnded(): boolean {
      return isEnded;
    },
    /** A request begins to wait, until the returned function is called. */
    join(): () => void {
      waiting++;
      return () => {
        waiting--;
      };
    },
    /** Resolves when it is time to look for answers. Requests look in the order in which they began to wait. */
    nextLook: () =>
      new Promise<void>((resolve) => {
        if (isEnded) return resolve();
        if (looking.length === 0) cancel = clock.after(LOOK_MS, wake);
        looking.push(resolve);
      }),
    /** A client has hung up after waiting this long for its first byte. `name`: its `user-agent`. */
    noteGone(name: string, waitedMs: number): void {
      if (waitedMs < LEAST_LIMIT_MS) return;
      const { lastMs = -Infinity, limitMs = Infinity } = clients.get(name) ?? {};
      const isLimit = Math.abs(waitedMs - lastMs) <= SAME_MS;
      if (clients.size >= MAX_CLIENTS) clients.clear();
      clients.set(name, { lastMs: waitedMs, limitMs: isLimit ? Math.min(waitedMs, lastMs) : limitMs });
    },
    /** Measured time that a client waits for its first byte; Infinity: unknown. */
    limitOf: (name: string): number => clients.get(name)?.limitMs ?? Infinity,
    end(): void {
      isEnded = true;
      cancel();
      wake();
    },
  };
}
