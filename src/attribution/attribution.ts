import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { Origin } from '../origin.ts';
import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import { type Connection, isLocal } from './connection.ts';

/** Finds the program behind each connection, once per connection, in the background. */
export interface Attribution {
  /** The origin of a connection's requests. Its fields are filled in once they are known. */
  originOf(socket: Socket): Origin;
  /** Resolves when the search for an origin has ended, or after `maxWaitMs`. */
  searched(origin: Origin, maxWaitMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface AttributionOptions {
  enabled: () => boolean;
  clock: Clock;
  /** Finds the origins of connections; by default in a worker thread. */
  find?: (connections: Connection[]) => Promise<(Origin | undefined)[]>;
}

/** Searches are batched, because connections come in bursts, and a process's first requests need the CPU more. */
const BATCH_MS = 100;
/** Pause after a search, as a multiple of the search's duration: searches use at most a tenth of a core. */
const PAUSE_FACTOR = 9;
const MAX_PAUSE_MS = 1_000;

/** Whether gw can find callers on this operating system. */
export const CAN_ATTRIBUTE = process.platform === 'linux' || process.platform === 'darwin';

interface Query {
  connection: Connection;
  resolve(origin: Origin | undefined): void;
}

export function createAttribution({ enabled, clock, ...options }: AttributionOptions): Attribution {
  const calls = createWorkerCalls<Connection[], (Origin | undefined)[]>({
    name: 'search for callers',
    startWorker: () => startBuiltWorker('attribution-worker'),
    clock,
  });
  const find = options.find ?? ((connections: Connection[]) => calls.call(connections));
  const origins = new WeakMap<Socket, Origin>();
  const unknown: Origin = Object.freeze({ process: '', repo: '', search: undefined });
  const queries: Query[] = [];
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
      queries.push({
        connection,
        resolve(result) {
          origin.process = result?.process ?? '';
          origin.repo = result?.repo ?? '';
          origin.search = undefined;
          resolve();
        },
      });
    });
    if (!searching) cancelPause ??= wait(BATCH_MS);
    return origin;
  }

  const wait = (ms: number) =>
    clock.after(ms, () => {
      cancelPause = undefined;
      next();
    });

  /** Starts a search for all queries so far. Only one search runs at a time. */
  function next(): void {
    if (searching || queries.length === 0 || (cancelPause && !urgent)) return;
    cancelPause?.();
    cancelPause = undefined;
    urgent = false;
    searching = true;
    void search(queries.splice(0));
  }

  async function search(batch: Query[]): Promise<void> {
    const startedAt = clock.monotonic();
    // A failed search must not fail requests; their origin stays unknown.
    const results = await find(batch.map(({ connection }) => connection)).catch(() => []);
    for (const [i, query] of batch.entries()) query.resolve(results[i]);
    searching = false;
    const pauseMs = Math.min(MAX_PAUSE_MS, (clock.monotonic() - startedAt) * PAUSE_FACTOR);
    cancelPause = wait(pauseMs);
    next();
  }

  return {
    originOf: (socket) => (CAN_ATTRIBUTE && enabled() ? (origins.get(socket) ?? start(socket)) : unknown),
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
