import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';
import type { buildConnector } from 'undici';
import { isLoopback } from '../loopback.ts';

/** Addresses that webhooks may connect to. */
export interface AddressPolicy {
  /** Allows loopback and private addresses. True only while gw itself is reachable only from this machine. */
  allowLocal: boolean;
  /** gw's own port, which is refused: an event sent to gw itself could cause another event. */
  ownPort: number;
}

/** gw's listening address, and the host names by which clients may reach it. */
export interface OwnAddress {
  host: string;
  port: number;
  allowedHosts: readonly string[];
}

/** Policy for a gw at this address. */
export function addressPolicy({ host, port, allowedHosts }: OwnAddress): AddressPolicy {
  const bare = host.replace(/^\[|\]$/g, '');
  const isLocal = bare === 'localhost' || (isIP(bare) !== 0 && classOfAddress(bare) === 'loopback');
  return { allowLocal: isLocal && allowedHosts.every(isLoopback), ownPort: port };
}

/** The policy forbids the connection, which was not opened. */
class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/** Reason why the policy refuses an IP address (not a host name); undefined if it is allowed. */
export function refusalOf(address: string, port: number, policy: AddressPolicy): string | undefined {
  const kind = classOfAddress(address);
  if (kind === 'forbidden')
    return `${address} is a link-local, metadata or reserved address, which webhooks never go to`;
  if (port === policy.ownPort && (kind === 'loopback' || isOwnAddress(address)))
    return `${address} port ${port} is gw itself`;
  if (kind !== 'public' && !policy.allowLocal)
    return `${address} is a ${kind} address, which webhooks go to only while gw listens on localhost alone, without server.allowed_hosts`;
  return undefined;
}

/** `refusalOf` for a URL with an IP address or localhost. Other hosts are checked when gw connects to them. */
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
 * An undici connector that checks each address before it connects: IP addresses in the URL, for which Node skips the
 * lookup, and all addresses that a name resolves to. It connects only to the checked addresses, which prevents DNS
 * rebinding.
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

/**
 * Checks a delivery through a proxy, which resolves names itself: an IP address in the URL, or the addresses to which
 * this machine resolves the name. Rejects if the policy refuses one. A name that only the proxy can resolve passes.
 */
export function checkBehindProxy(url: URL, policy: AddressPolicy, lookup: Lookup = dnsLookup): Promise<void> {
  const refusal = refusalOfUrl(url, policy);
  if (refusal !== undefined) return Promise.reject(new AddressRefused(refusal));
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    checkedLookup(lookup, portOf(url.protocol, url.port), policy)(host, { all: true }, (error) =>
      error instanceof AddressRefused ? reject(error) : resolve(),
    );
  });
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

const portOf = (protocol: string, port: string): number => Number(port) || (protocol === 'https:' ? 443 : 80);

function isOwnAddress(address: string): boolean {
  const inner = innerAddress(address).toString();
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .some((entry) => entry.address === inner);
}

/** Class of an IP address. `forbidden` (never allowed): link-local, metadata services, and addresses of no host. */
export type AddressClass = 'public' | 'private' | 'loopback' | 'forbidden';

const subnets = (text: string) => text.split(' ').map(ipaddr.parseCIDR);

// gw lists its own ranges, so that an update of ipaddr.js can't change what gw connects to.
const RANGES: Record<Exclude<AddressClass, 'public'>, [IPv4 | IPv6, number][]> = {
  forbidden: [
    ...subnets(
      '0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3',
    ),
    ...subnets('::/128 fe80::/10 ff00::/8'),
    // Local-use NAT64, discard-only, Teredo, documentation: no webhook has such an address.
    ...subnets('64:ff9b:1::/48 100::/64 2001::/32 2001:db8::/32'),
    // Metadata services outside these ranges: Alibaba, Azure, Amazon, Google.
    ...subnets('100.100.100.200/32 168.63.129.16/32 fd00:ec2::/32 fd20:ce::254/128'),
  ],
  loopback: subnets('127.0.0.0/8 ::1/128'),
  private: subnets('10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15 fc00::/7 fec0::/10'),
};

/**
 * Ranges that embed an IPv4 address in the last bytes: mapped, translated (RFC 2765), NAT64 and compatible addresses.
 */
const EMBEDDING = subnets('::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 ::/96');
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');

/** Classifies an IP address (not a host name). An IPv4 address embedded in IPv6 has the class of the IPv4 address. */
export function classOfAddress(address: string): AddressClass {
  return ipaddr.subnetMatch(innerAddress(address), RANGES, 'public') as AddressClass;
}

/** Parses an address without its zone; for an IPv6 address that embeds an IPv4 address, returns the latter. */
function innerAddress(address: string): IPv4 | IPv6 {
  const bare = address.split('%', 1)[0] ?? '';
  // ipaddr.js parses ::a.b.c.d as a mapped address, which ::0.0.0.1 is not.
  const outer = ipaddr.parse(bare.replace(/^::(?=\d+\.)/, '0::'));
  if (outer.kind() === 'ipv4') return outer;
  const bytes = outer.toByteArray();
  if (outer.match(SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6));
  const isEmbedding = EMBEDDING.some((range) => outer.match(range)) && !/^::1?$/.test(outer.toString());
  return isEmbedding ? new ipaddr.IPv4(bytes.slice(12)) : outer;
}
