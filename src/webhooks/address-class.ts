import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

/** The class of an IP address. `forbidden`: link-local, metadata services, and addresses of no host; never allowed. */
export type AddressClass = 'public' | 'private' | 'loopback' | 'forbidden';

const subnets = (text: string) => text.split(' ').map(ipaddr.parseCIDR);

// Ranges of gw's own: an update of the library, which knows some, must not change what gw connects to.
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

/** Addresses that embed an IPv4 address: mapped, translated (RFC 2765), NAT64 and compatible ones in their last bytes. */
const EMBEDDING = subnets('::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 ::/96');
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');

/** The class of an IP address (not a host name). An IPv4 address embedded in IPv6 has the class of the IPv4 address. */
export function classOfAddress(address: string): AddressClass {
  return ipaddr.subnetMatch(innerAddress(address), RANGES, 'public') as AddressClass;
}

/** The address without its zone, or the IPv4 address that an IPv6 address embeds. */
export function innerAddress(address: string): IPv4 | IPv6 {
  const bare = address.split('%', 1)[0] ?? '';
  // ipaddr.js takes ::a.b.c.d for a mapped address, which ::0.0.0.1 is not.
  const outer = ipaddr.parse(bare.replace(/^::(?=\d+\.)/, '0::'));
  if (outer.kind() === 'ipv4') return outer;
  const bytes = outer.toByteArray();
  if (outer.match(SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6));
  const isEmbedding = EMBEDDING.some((range) => outer.match(range)) && !/^::1?$/.test(outer.toString());
  return isEmbedding ? new ipaddr.IPv4(bytes.slice(12)) : outer;
}
