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
  return {
    of(origin) {
      let pool = pools.get(origin);
      if (!pool) {
        const { connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = options();
        pool = new Pool(origin, {
          connections: MAX_CONNECTIONS,
          pipelining: 1,
          keepAliveTimeout: KEEP_ALIVE_MS,
          connect: { timeout: connectTimeoutMs },
          headersTimeout: firstByteTimeoutMs,
          bodyTimeout: idleTimeoutMs,
        });
        pools.set(origin, pool);
      }
      return pool;
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
      pools.clear();
    },
  };
}
