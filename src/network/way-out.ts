import { BlockList, isIP } from 'node:net';
import { unavailable } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { NO_PROXY_ADDRESS, NO_PROXY_AT_ALL, parseProxyAddress, withoutPassword } from '../proxy-address.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Route to an address. */
export interface WayOut {
  /** Undefined for a direct route. */
  proxy: URL | undefined;
  /** The setting or variable that names the proxy; undefined for a direct route. */
  source: string | undefined;
}

export interface ProxySettings {
  /** The setting `proxy.url`: empty for the environment's proxies, `none` for no proxy. */
  proxyUrl: string;
  env: Environment;
}

/** The proxy of a single destination. Overrides all others and `NO_PROXY`. */
export interface OwnProxy {
  /** A proxy's address, or `none`. */
  address: string;
  /** The setting that contains the address. */
  source: string;
}

const DIRECT: WayOut = { proxy: undefined, source: undefined };

/**
 * The route to a URL: the destination's own proxy, else `proxy.url`, else the environment's proxy. As in Go, the latter
 * two don't apply to this machine. Throws a GwError that names a variable or setting without a usable address.
 */
export function wayOut(url: URL, { proxyUrl, env }: ProxySettings, own?: OwnProxy): WayOut {
  if (own) return throughProxy(own.address, own.source);
  if (isLoopback(url.hostname) || isExcepted(url, noProxyOf(env))) return DIRECT;
  if (proxyUrl !== '') return throughProxy(proxyUrl, 'proxy.url');
  const variable = proxyVariable(url, env);
  return variable === undefined ? DIRECT : throughProxy(env[variable] ?? '', variable);
}

/** The variable that names the proxy for a URL. Ignores exceptions. */
function proxyVariable({ protocol }: URL, env: Environment): string | undefined {
  // An https address falls back to the proxy for http, as in undici's EnvHttpProxyAgent.
  const names = protocol === 'https:' ? ['https_proxy', 'http_proxy'] : ['http_proxy'];
  return names.flatMap((name) => [name, name.toUpperCase()]).find((name) => env[name]);
}

/** A route for display: `direct`, or `through http://proxy:3128 (HTTPS_PROXY)`. */
export function wayText({ proxy, source }: WayOut): string {
  return proxy ? `through ${proxy.origin} (${source})` : 'direct';
}

function throughProxy(address: string, source: string): WayOut {
  if (address === NO_PROXY_AT_ALL) return DIRECT;
  const proxy = parseProxyAddress(address);
  if (proxy) return { proxy, source };
  const message = `${source} is "${withoutPassword(address)}", which is ${NO_PROXY_ADDRESS}`;
  throw unavailable(message, 'proxy_unusable');
}

const noProxyOf = (env: Environment): string => env.no_proxy || env.NO_PROXY || '';

/**
 * Whether `NO_PROXY` excepts a URL: by host name including subdomains, address or range, each with an optional port.
 */
function isExcepted(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => entry === '*' || matches(entry, host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  const { name, ownPort } = splitEntry(entry);
  if (ownPort !== undefined && ownPort !== port) return false;
  if (name.includes('/')) return isInRange(host, name);
  const suffix = name.replace(/^\*?\./, '');
  return suffix !== '' && (host === suffix || (isIP(host) === 0 && host.endsWith(`.${suffix}`)));
}

/** Splits off the port. An IPv6 address with a port is in brackets. */
function splitEntry(entry: string): { name: string; ownPort: string | undefined } {
  const bare = entry.replace(/^\[|\](?=$|:)/g, '');
  const colon = bare.lastIndexOf(':');
  const isAddress = !entry.includes(']:') && bare.indexOf(':') !== colon;
  if (colon < 0 || isAddress) return { name: bare, ownPort: undefined };
  return { name: bare.slice(0, colon), ownPort: bare.slice(colon + 1) };
}

function isInRange(host: string, range: string): boolean {
  const [address = '', bits = ''] = range.split('/');
  const family = isIP(address);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
