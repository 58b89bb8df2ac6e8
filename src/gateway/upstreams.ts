import { type Dispatcher, Pool } from 'undici';

/** Connections to providers, one pool for each origin. */
export interface Upstreams {
  /** The pool of an origin, made on first use. */
  of(origin: string): Dispatcher;
  /** Closes all connections; running requests are cut. */
  close(): Promise<void>;
}

export interface UpstreamOptions {
  connectTimeoutMs: number;
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
}

const MAX_CONNECTIONS = 1024;
/** Providers keep idle connections for a minute or more; one that says less is obeyed. */
const KEEP_ALIVE_MS = 30_000;

export function createUpstreams(options: () => UpstreamOptions): Upstreams {
  const pools = new Map<string, Pool>();
  const open = new Set<Pool>();
  let current = options();

  /** Changed settings hold for new connections; what runs on the old ones ends there. */
  function renew(wanted: UpstreamOptions): void {
    current = wanted;
    for (const pool of pools.values()) void pool.close().then(() => open.delete(pool));
    pools.clear();
  }

  function connect(origin: string): Pool {
    const pool = new Pool(origin, {
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: current.connectTimeoutMs },
      headersTimeout: current.firstByteTimeoutMs,
      bodyTimeout: current.idleTimeoutMs,
    });
    pools.set(origin, pool);
    open.add(pool);
    return pool;
  }

  return {
    of(origin) {
      const wanted = options();
      if (!isSame(wanted, current)) renew(wanted);
      return pools.get(origin) ?? connect(origin);
    },
    async close() {
      await Promise.all([...open].map((pool) => pool.destroy()));
      pools.clear();
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
