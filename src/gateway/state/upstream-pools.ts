import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { ConnectError } from '../../network/connect-error.ts';
import { localAddresses } from '../../network/local-addresses.ts';
import type { Network } from '../../network/network.ts';
import type { OwnProxy, WayOut } from '../../network/way-out.ts';
import type { Cloud } from '../../providers/clouds/cloud.ts';
import { type Dispatching, throughCloud } from '../../providers/clouds/cloud-call.ts';
import { createStallWatch, type StallLimits, type StallWatch } from './stall-watch.ts';

/** The connections to providers, one pool per origin and proxy of its own. */
export type UpstreamPools = ReturnType<typeof createUpstreamPools>;

interface Destination {
  origin: string;
  ownProxy?: OwnProxy | undefined;
  cloud?: Cloud;
}

/** The connection pool of one origin. */
export interface Upstream {
  dispatcher: Dispatching;
  way: WayOut;
  stalls: StallWatch;
}

export interface UpstreamOptions extends StallLimits {
  network: Network;
  connectTimeoutMs: number;
}

const MAX_CONNECTIONS = 1024;
/** Providers keep idle connections for a minute or more; a shorter `keep-alive` header of theirs takes precedence. */
const KEEP_ALIVE_MS = 30_000;
/** A longer gap between two checks, which are 5 s apart, means that the machine slept. */
const ASLEEP_MS = 15_000;
/** After a longer sleep peers have given up: Linux sends again for 15 minutes (tcp_retries2 in tcp(7)). */
const FORGOTTEN_MS = 20 * 60_000;

interface PoolsOptions {
  options: () => UpstreamOptions;
  clock: Pick<Clock, 'now'>;
  /** This machine's addresses. */
  addresses?: () => string[];
}

export function createUpstreamPools({ options, clock, addresses = localAddresses }: PoolsOptions) {
  const upstreams = new Map<string, Upstream & { dispatcher: Dispatcher }>();
  const pools = new Set<Dispatcher>();
  const cutting = new AbortController();
  // A listener for each answer that is read without a client.
  setMaxListeners(0, cutting.signal);
  let current = options();
  let stalls = createStallWatch(current);
  let checkedAt = clock.now();
  let lastAddresses = addresses();

  /**
   * Whether idle connections may have died without a word, as they do in a sleep: nothing sent on them would come back.
   * By the wall clock, because the timers that close idle connections may stand still during sleep.
   */
  function hasSlept(): boolean {
    const now = clock.now();
    const gapMs = now - checkedAt;
    checkedAt = now;
    if (gapMs > FORGOTTEN_MS) stalls.hurry();
    return gapMs > ASLEEP_MS;
  }

  /** Whether this machine has lost an address, and with it the connections from there. */
  function hasMoved(): boolean {
    const known = lastAddresses;
    lastAddresses = addresses();
    return known.some((address) => !lastAddresses.includes(address));
  }

  /** Opens new connections from now on, with these settings; running requests finish on the old ones. */
  function renew(changed: UpstreamOptions): void {
    current = changed;
    stalls = createStallWatch(current);
    for (const { dispatcher } of upstreams.values()) {
      void dispatcher.close().then(() => pools.delete(dispatcher));
    }
    upstreams.clear();
  }

  function connect(key: string, destination: Destination): Upstream {
    try {
      return open(key, destination);
    } catch (error) {
      return { dispatcher: noWay(error), way: { proxy: undefined, source: undefined }, stalls };
    }
  }

  function open(key: string, { origin, ownProxy }: Destination): Upstream {
    const url = new URL(origin);
    const way = current.network.wayTo(url, ownProxy);
    const dispatcher = current.network.open(url, {
      own: ownProxy,
      connectTimeoutMs: current.connectTimeoutMs,
      pool: {
        connections: MAX_CONNECTIONS,
        pipelining: 1,
        keepAliveTimeout: KEEP_ALIVE_MS,
        // The stall watch ends silent calls.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
    });
    const upstream = { dispatcher, way, stalls };
    upstreams.set(key, upstream);
    pools.add(dispatcher);
    return upstream;
  }

  return {
    /** The pool for a provider, created on first use. If there is no way to it, its calls fail with a ConnectError. */
    of(destination: Destination): Upstream {
      const latest = options();
      if (hasSlept() || !isSame(latest, current)) renew(latest);
      const { origin, ownProxy, cloud } = destination;
      const key = ownProxy ? `${origin} ${ownProxy.address}` : origin;
      const upstream = upstreams.get(key) ?? connect(key, destination);
      return cloud ? { ...upstream, dispatcher: throughCloud(cloud, upstream.dispatcher, origin) } : upstream;
    },
    /** To be called every 5 s: gives up the idle connections if the machine has slept, or is in another network. */
    check(): void {
      const slept = hasSlept();
      if (hasMoved() || slept) renew(options());
    },
    /** Aborted by `cut`. */
    cutting: cutting.signal,
    /** Ends the calls whose answers are read without a client, and lets no more of them go on. */
    cut: () => cutting.abort(),
    /** Closes all connections, and cuts running requests. */
    async close(): Promise<void> {
      await Promise.all([...pools].map((pool) => pool.destroy()));
      upstreams.clear();
      pools.clear();
    },
  };
}

/** Fails each call before it is sent: a proxy or an authority of the settings can't be used. */
function noWay(error: unknown): Dispatching {
  const why = new ConnectError(messageOf(error), undefined, error);
  return {
    dispatch(_request, handler) {
      handler.onError?.(why);
      return true;
    },
  };
}

function isSame(a: UpstreamOptions, b: UpstreamOptions): boolean {
  return (
    a.network === b.network &&
    a.connectTimeoutMs === b.connectTimeoutMs &&
    a.firstByteTimeoutMs === b.firstByteTimeoutMs &&
    a.idleTimeoutMs === b.idleTimeoutMs
  );
}
