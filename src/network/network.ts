import type { SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { openConnections, type PoolOptions } from './connections.ts';
import { trustedBy } from './trust.ts';
import { type OwnProxy, type ProxySettings, type WayOut, wayOut } from './way-out.ts';

export interface NetworkOptions extends ProxySettings {
  /** PEM file with certificate authorities that are trusted besides the usual ones; empty for none. */
  caFile: string;
}

/** Everything that gw sends to other machines leaves through this: it knows the proxies and whom to trust. */
export interface Network {
  /** The way to a URL. Throws as `wayOut` does. */
  wayTo(url: URL, own?: OwnProxy): WayOut;
  /** Connections to a URL's origin. Idle ones don't keep the process alive. Throws as `wayTo` does. */
  open(url: URL, options?: OpenOptions): Dispatcher;
}

interface OpenOptions extends PoolOptions {
  own?: OwnProxy | undefined;
}

export function createNetwork({ caFile, ...proxies }: NetworkOptions): Network {
  let trusted: SecureContext | undefined;
  const wayTo: Network['wayTo'] = (url, own) => wayOut(url, proxies, own);
  return {
    wayTo,
    open(url, { own, ...options } = {}) {
      if (caFile !== '') trusted ??= trustedBy(caFile, proxies.env);
      return openConnections(url.origin, wayTo(url, own), { ...options, secureContext: trusted });
    },
  };
}
