import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { buildConnector } from 'undici';
import { classOfAddress, innerAddress } from './address-class.ts';

/** What webhooks may connect to. */
export interface AddressPolicy {
  /** Loopback and private addresses: while gw itself can be reached from this machine only. */
  allowLocal: boolean;
  /** gw's own port; an event that it sends to itself would be a request that makes events. */
  ownPort: number;
}

/** The policy of a gw that listens on this host and port (settings `host` and `port`). */
export function addressPolicy({ host, port }: { host: string; port: number }): AddressPolicy {
  const bare = host.replace(/^\[|\]$/g, '');
  return {
    allowLocal: bare === 'localhost' || (isIP(bare) !== 0 && classOfAddress(bare) === 'loopback'),
    ownPort: port,
  };
}

/** A connection that the policy forbids; it was not opened. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/** Why an address (not a name) must not be connected to; undefined if it may. */
export function refusalOf(address: string, port: number, policy: AddressPolicy): string | undefined {
  const kind = classOfAddress(address);
  if (kind === 'forbidden') {
    return `${address} is a link-local, metadata or reserved address, which webhooks never go to`;
  }
  if (port === policy.ownPort && (kind === 'loopback' || isOwnAddress(address))) {
    return `${address} port ${port} is gw itself`;
  }
  if (kind !== 'public' && !policy.allowLocal) {
    return `${address} is a ${kind} address, which webhooks go to only while gw listens on localhost alone`;
  }
  return undefined;
}

/** As `refusalOf`, for a URL whose host says where it leads; other names are looked up when they are connected to. */
export function refusalOfUrl(url: URL, policy: AddressPolicy): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const address = /^localhost\.?$/.test(host) ? '127.0.0.1' : host;
  return isIP(address) ? refusalOf(address, portOf(url.protocol, url.port), policy) : undefined;
}

type Lookup = (
  hostname: string,
  options: { all: true; family?: number; hints?: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Makes undici's connector check what it connects to: addresses in the URL, for which Node never asks its lookup,
 * and every address that a name resolves to. The checked addresses are the ones that are connected to, so a name
 * that resolves differently the next time gains nothing.
 */
export function createCheckedConnector(
  build: typeof buildConnector,
  policy: () => AddressPolicy,
  { lookup = dnsLookup, timeoutMs }: { lookup?: Lookup; timeoutMs: number },
): buildConnector.connector {
  return (options, callback) => {
    const port = portOf(options.protocol, options.port);
    if (isIP(options.hostname)) {
      const refusal = refusalOf(options.hostname, port, policy());
      if (refusal !== undefined) {
        callback(new AddressRefused(refusal), null);
        return;
      }
    }
    const connect = build({ timeout: timeoutMs, lookup: checkedLookup(lookup, port, policy()) });
    connect(options, callback);
  };
}

function checkedLookup(lookup: Lookup, port: number, policy: AddressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0);
    lookup(hostname, { all: true, family, hints: options.hints ?? 0 }, (error, addresses) => {
      const refusal = addresses?.map((entry) => refusalOf(entry.address, port, policy)).find((why) => why);
      const [first] = addresses ?? [];
      if (error) callback(error, []);
      else if (refusal) callback(new AddressRefused(`${hostname}: ${refusal}`), []);
      else if (options.all) callback(null, addresses);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}

function portOf(protocol: string, port: string): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

function isOwnAddress(address: string): boolean {
  const inner = innerAddress(address);
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .some((entry) => entry.address === inner);
}
