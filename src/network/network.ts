import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { GwError, messageOf } from '../errors.ts';
import { openConnections, type PoolOptions } from './connections.ts';
import { type Environment, type OwnProxy, type ProxySettings, type WayOut, wayOut } from './way-out.ts';

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

/** Trusts the authorities that Node trusts by itself, and those in a PEM file. Throws a GwError if it can't be used. */
function trustedBy(caFile: string, env: Environment): SecureContext {
  try {
    return createSecureContext({ ca: [...defaultAuthorities(env), readFileSync(caFile, 'utf8')] });
  } catch (error) {
    throw new GwError(
      `the authorities of tls.ca_file can't be used: ${messageOf(error)}. To do without: gw config unset tls.ca_file`,
      { status: 503, type: 'api_error', code: 'tls_unusable', cause: error },
    );
  }
}

/** A `ca` replaces all that Node trusts by itself (https://nodejs.org/api/tls.html#tlscreatesecurecontextoptions). */
function defaultAuthorities(env: Environment): readonly string[] {
  // Since Node 22.15; it includes NODE_EXTRA_CA_CERTS.
  if ('getCACertificates' in tls) return (tls.getCACertificates as () => string[])();
  const extra = env.NODE_EXTRA_CA_CERTS;
  return extra ? [...rootCertificates, ...readIfThere(extra)] : rootCertificates;
}

/** Node warns of a file that it can't read, and goes on. */
function readIfThere(file: string): string[] {
  try {
    return [readFileSync(file, 'utf8')];
  } catch {
    return [];
  }
}
