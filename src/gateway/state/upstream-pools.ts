import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { skipContinue } from '../../skip-continue.ts';
import { createStallWatch, type StallLimits, type StallWatch } from './stall-watch.ts';
import { buildConnector, type Connector, Pool } from './undici.ts';

/** The connections to providers, one pool per origin. */
export interface UpstreamPools {
  /** The pool of an origin, created on first use. */
  of(origin: string): Upstream;
  /** Aborted by `cut`. */
  readonly cutting: AbortSignal;
  /** Ends the calls whose answers are read without a client, and lets no more of them go on. */
  cut(): void;
  /** Closes all connections, and cuts running requests. */
  close(): Promise<void>;
}

/** The connection pool of one origin. */
export interface Upstream {
  dispatcher: Dispatcher;
  stalls: StallWatch;
}

export interface UpstreamOptions extends StallLimits {
  connectTimeoutMs: number;
}

const MAX_CONNECTIONS = 1024;
/** Providers keep idle connections for a minute or more; a shorter `keep-alive` header of theirs takes precedence. */
const KEEP_ALIVE_MS = 30_000;

export function createUpstreamPools(options: () => UpstreamOptions): UpstreamPools {
  const upstreams = new Map<string, { dispatcher: Pool; stalls: StallWatch }>();
  const open = new Set<Pool>();
  const cutting = new AbortController();
  // A listener for each answer that is read without a client.
  setMaxListeners(0, cutting.signal);
  let current = options();
  let stalls = createStallWatch(current);

  /** Applies changed settings to new connections; running requests finish on the old ones. */
  function renew(changed: UpstreamOptions): void {
    current = changed;
    stalls = createStallWatch(current);
    for (const { dispatcher } of upstreams.values()) {
      void dispatcher.close().then(() => open.delete(dispatcher));
    }
    upstreams.clear();
  }

  function connect(origin: string): Upstream {
    const pool = new Pool(origin, {
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: connector(current.connectTimeoutMs),
      // The stall watch ends silent calls.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const upstream = { dispatcher: pool, stalls };
    upstreams.set(origin, upstream);
    open.add(pool);
    return upstream;
  }

  return {
    of(origin) {
      const latest = options();
      if (!isSame(latest, current)) renew(latest);
      return upstreams.get(origin) ?? connect(origin);
    },
    cutting: cutting.signal,
    cut: () => cutting.abort(),
    async close() {
      await Promise.all([...open].map((pool) => pool.destroy()));
      upstreams.clear();
      open.clear();
    },
  };
}

/** Connects as undici does by itself, to a socket whose answers begin after any `100 Continue`. */
function connector(timeout: number): Connector {
  const connect = buildConnector({ timeout });
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[1]) skipContinue(result[1]);
      callback(...result);
    });
}

function isSame(a: UpstreamOptions, b: UpstreamOptions): boolean {
  return (
    a.connectTimeoutMs === b.connectTimeoutMs &&
    a.firstByteTimeoutMs === b.firstByteTimeoutMs &&
    a.idleTimeoutMs === b.idleTimeoutMs
  );
}
