import type { Dispatcher } from 'undici';
import { createStallWatch, type StallLimits, type StallWatch } from './stall-watch.ts';
import { Pool } from './undici.ts';

/** Connections to providers, one pool for each origin. */
export interface UpstreamPools {
  /** The way to an origin, made on first use. */
  of(origin: string): Upstream;
  /** Closes all connections; running requests are cut. */
  close(): Promise<void>;
}

/** The way to one origin. */
export interface Upstream {
  dispatcher: Dispatcher;
  stalls: StallWatch;
}

export interface UpstreamOptions extends StallLimits {
  connectTimeoutMs: number;
}

const MAX_CONNECTIONS = 1024;
/** Providers keep idle connections for a minute or more; one that says less is obeyed. */
const KEEP_ALIVE_MS = 30_000;

export function createUpstreamPools(options: () => UpstreamOptions): UpstreamPools {
  const upstreams = new Map<string, { dispatcher: Pool; stalls: StallWatch }>();
  const open = new Set<Pool>();
  let current = options();
  let stalls = createStallWatch(current);

  /** Changed settings hold for new connections; what runs on the old ones ends there. */
  function renew(wanted: UpstreamOptions): void {
    current = wanted;
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
      connect: { timeout: current.connectTimeoutMs },
      // The stall watch's business.
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
      const wanted = options();
      if (!isSame(wanted, current)) renew(wanted);
      return upstreams.get(origin) ?? connect(origin);
    },
    async close() {
      await Promise.all([...open].map((pool) => pool.destroy()));
      upstreams.clear();
      open.clear();
    },
  };
}

function isSame(a: UpstreamOptions, b: UpstreamOptions): boolean {
  return (
    a.connectTimeoutMs === b.connectTimeoutMs &&
    a.firstByteTimeoutMs === b.firstByteTimeoutMs &&
    a.idleTimeoutMs === b.idleTimeoutMs
  );
}
