import { BlockList, isIPv4 } from 'node:net';

/** The class of an IP address. `forbidden`: link-local, metadata services, and addresses of no host; never allowed. */
export type AddressClass = 'public' | 'private' | 'loopback' | 'forbidden';

type Subnet = readonly [network: string, prefix: number];

const SUBNETS: readonly { kind: AddressClass; family: 'ipv4' | 'ipv6'; subnets: readonly Subnet[] }[] = [
  {
    kind: 'forbidden',
    family: 'ipv4',
    subnets: [
      ['0.0.0.0', 8],
      ['169.254.0.0', 16],
      // Metadata services with a public or shared address: Alibaba, Azure, Oracle.
      ['100.100.100.200', 32],
      ['168.63.129.16', 32],
      ['192.0.0.0', 24],
      ['192.0.2.0', 24],
      ['198.51.100.0', 24],
      ['203.0.113.0', 24],
      ['224.0.0.0', 3],
    ],
  },
  {
    kind: 'forbidden',
    family: 'ipv6',
    subnets: [
      ['::', 128],
      // Local-use NAT64, discard-only, Teredo, documentation: no webhook has such an address.
      ['64:ff9b:1::', 48],
      ['100::', 64],
      ['2001::', 32],
      ['2001:db8::', 32],
      // Metadata services: Amazon, Google.
      ['fd00:ec2::', 32],
      ['fd20:ce::254', 128],
      ['fe80::', 10],
      ['ff00::', 8],
    ],
  },
  { kind: 'loopback', family: 'ipv4', subnets: [['127.0.0.0', 8]] },
  { kind: 'loopback', family: 'ipv6', subnets: [['::1', 128]] },
  {
    kind: 'private',
    family: 'ipv4',
    subnets: [
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
      ['198.18.0.0', 15],
    ],
  },
  {
    kind: 'private',
    family: 'ipv6',
    subnets: [
      ['fc00::', 7],
      ['fec0::', 10],
    ],
  },
];

const LISTS = SUBNETS.map(({ kind, family, subnets }) => {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return { kind, family, list };
});

/** The class of an IP address (not a host name). An IPv4 address embedded in IPv6 has the class of the IPv4 address. */
export function classOfAddress(address: string): AddressClass {
  const inner = innerAddress(address);
  const family = isIPv4(inner) ? 'ipv4' : 'ipv6';
  return LISTS.find((entry) => entry.family === family && entry.list.check(inner, family))?.kind ?? 'public';
}

/** The address without its zone, or the IPv4 address that an IPv6 address embeds. */
export function innerAddress(address: string): string {
  const bare = address.split('%', 1)[0] ?? '';
  return isIPv4(bare) ? bare : (embeddedIpv4(bare) ?? bare);
}

/** The IPv4 address in a mapped (::ffff:), compatible (::), NAT64 (64:ff9b::) or 6to4 (2002:) IPv6 address. */
function embeddedIpv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const zeros = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0);
  const [first, second, third] = groups;
  if (first === 0x2002) return dotted(second, third);
  const last = () => dotted(groups[6], groups[7]);
  if (zeros(0, 5) && groups[5] === 0xffff) return last();
  // ::ffff:0:a.b.c.d, IPv4-translated (RFC 2765).
  if (zeros(0, 4) && groups[4] === 0xffff && groups[5] === 0) return last();
  if (first === 0x64 && second === 0xff9b && zeros(2, 6)) return last();
  return zeros(0, 6) && (groups[6] !== 0 || (groups[7] ?? 0) > 1) ? last() : undefined;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser accepts every notation and normalises the groups to hexadecimal.
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const parse = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = parse(head);
  const after = parse(tail ?? '');
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
