import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { messageOf, orElse, unavailable } from '../errors.ts';
import { openConnections, type PoolOptions } from './connections.ts';
import { type Environment, type OwnProxy, type ProxySettings, type WayOut, wayOut } from './way-out.ts';

export interface NetworkOptions extends ProxySettings {
  /** PEM file with additional trusted certificate authorities; empty for none. */
  caFile: string;
}

/** All connections to other machines. Applies the proxies and the trusted authorities. */
export interface Network {
  /** The route to a URL. Throws like `wayOut`. */
  wayTo(url: URL, own?: OwnProxy): WayOut;
  /** Connections to a URL's origin. Idle ones don't keep the process alive. Throws like `wayTo`. */
  open(url: URL, options?: PoolOptions & { own?: OwnProxy | undefined }): Dispatcher;
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

/** Trusts Node's default authorities and those in a PEM file. Throws a GwError if the file can't be used. */
function trustedBy(caFile: string, env: Environment): SecureContext {
  try {
    return createSecureContext({ ca: [...defaultAuthorities(env), readFileSync(caFile, 'utf8')] });
  } catch (error) {
    throw unavailable(
      `the authorities of tls.ca_file can't be used: ${messageOf(error)}. To do without: gw config unset tls.ca_file`,
      'tls_unusable',
      error,
    );
  }
}

/**
 * Passing `ca` replaces Node's default authorities (https://nodejs.org/api/tls.html#tlscreatesecurecontextoptions), so
 * they have to be listed.
 */
function defaultAuthorities(env: Environment): readonly string[] {
  // Exists since Node 22.15, and includes NODE_EXTRA_CA_CERTS.
  if ('getCACertificates' in tls) return (tls.getCACertificates as () => string[])();
  const file = env.NODE_EXTRA_CA_CERTS;
  // Like Node, continues without an unreadable file.
  const extra = file ? orElse(() => [readFileSync(file, 'utf8')], []) : [];
  return [...rootCertificates, ...extra];
}
