import type { Socket } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../clock.ts';
import type { Origin } from '../origin.ts';
import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import { type Connection, isLocal } from './connection.ts';

/** Finds out which programs call, beside the requests and once a connection. */
export interface Attribution {
  /** The origin of a connection's requests. It is filled in, once, as soon as it is known. */
  originOf(socket: Socket): Origin;
  /** Resolves when the search has ended, or the time is up. */
  searched(origin: Origin, maxWaitMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface AttributionOptions {
  enabled: () => boolean;
  clock: Clock;
  /** How the other ends are found; a thread by default. */
  find?: (connections: Connection[]) => Promise<(Origin | undefined)[]>;
}

/** A search waits for company: connections come in bursts, and the first requests of a process need the core more. */
const GATHER_MS = 100;
/** A search is followed by a pause of so many times its length, so that it takes a tenth of a core at most. */
const PAUSE_FACTOR = 9;
const MAX_PAUSE_MS = 1_000;

/** Whether this system tells who calls. */
export const CAN_ATTRIBUTE = process.platform === 'linux' || process.platform === 'darwin';

interface Wanted {
  connection: Connection;
  tell(origin: Origin | undefined): void;
}

export function createAttribution({ enabled, clock, find: given }: AttributionOptions): Attribution {
  const calls = createWorkerCalls<Connection[], (Origin | undefined)[]>({
    name: 'search for callers',
    startWorker: startAttributionWorker,
    clock,
  });
  const find = given ?? ((connections: Connection[]) => calls.call(connections));
  const origins = new WeakMap<Socket, Origin>();
  const nobody: Origin = Object.freeze({ process: '', repo: '', search: undefined });
  const wanted: Wanted[] = [];
  let searching = false;
  let urgent = false;
  let cancelPause: (() => void) | undefined;

  function start(socket: Socket): Origin {
    const origin: Origin = { process: '', repo: '', search: undefined };
    origins.set(socket, origin);
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    if (!localAddress || !localPort || !remoteAddress || !remotePort) return origin;
    const connection = { localAddress, localPort, remoteAddress, remotePort };
    if (!isLocal(connection)) return origin;
    origin.search = new Promise((resolve) => {
      wanted.push({
        connection,
        tell(found) {
          origin.process = found?.process ?? '';
          origin.repo = found?.repo ?? '';
          origin.search = undefined;
          resolve();
        },
      });
    });
    if (!searching) cancelPause ??= wait(GATHER_MS);
    return origin;
  }

  function wait(ms: number): () => void {
    return clock.after(ms, () => {
      cancelPause = undefined;
      next();
    });
  }

  /** One search at a time, for all that came meanwhile. */
  function next(): void {
    if (searching || wanted.length === 0 || (cancelPause && !urgent)) return;
    cancelPause?.();
    cancelPause = undefined;
    urgent = false;
    searching = true;
    void search(wanted.splice(0));
  }

  async function search(batch: Wanted[]): Promise<void> {
    const startedAt = clock.monotonic();
    // Who called is of no use to anybody whose request would fail over it.
    const found = await find(batch.map(({ connection }) => connection)).catch(() => []);
    for (const [i, { tell }] of batch.entries()) tell(found[i]);
    searching = false;
    const pauseMs = Math.min(MAX_PAUSE_MS, (clock.monotonic() - startedAt) * PAUSE_FACTOR);
    cancelPause = wait(pauseMs);
    next();
  }

  return {
    originOf: (socket) => (CAN_ATTRIBUTE && enabled() ? (origins.get(socket) ?? start(socket)) : nobody),
    async searched({ search: running }, maxWaitMs) {
      if (!running) return;
      urgent = true;
      next();
      let cancel = () => {};
      const timeUp = new Promise<void>((resolve) => {
        cancel = clock.after(maxWaitMs, resolve);
      });
      await Promise.race([running, timeUp]);
      cancel();
    },
    close: () => calls.close(),
  };
}

function startAttributionWorker(): Worker {
  return startBuiltWorker('attribution/worker.js');
}
