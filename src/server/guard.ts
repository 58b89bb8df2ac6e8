import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { isExactOrigin } from '../config/values.ts';
import { badRequest, GwError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

export interface GuardOptions {
  /** The configured host that gw listens on. */
  boundTo: string;
  /** The names under which gw is served besides; a new list after each change. */
  allowedHosts: () => readonly string[];
  /** The origins of other pages that may use gw. */
  allowedOrigins: () => readonly string[];
}

/**
 * Refuses requests that a web page could send through a browser: those with a foreign `Host` (DNS rebinding) or a
 * foreign `Origin`. Compares host names only, not ports.
 */
export function createGuard(options: GuardOptions): (request: IncomingMessage) => void {
  const { boundTo, allowedHosts, allowedOrigins } = options;
  const accepted = new Set<string>();
  const ownNames = [boundTo, hostname().toLowerCase()];
  let allowed = allowedHosts();
  const isOwn = (name: string) => isLoopback(name) || ownNames.includes(name) || allowed.includes(name);
  // Rebinding needs a name. If gw listens beyond loopback, clients reach it by any address of the machine.
  const isOwnAddress = (name: string) => !isLoopback(boundTo) && isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return (request) => {
    const { host, origin } = request.headers;
    if (allowed !== allowedHosts()) {
      allowed = allowedHosts();
      accepted.clear();
    }
    if (host === undefined)
      throw badRequest('the Host header is missing: use "Host: localhost"', undefined, 'missing_host');
    if (countHosts(request) !== 1) throw foreign('Host', host, HOST_RULE + NAME_REMEDY);
    if (!accepted.has(host)) {
      const name = hostName(host);
      if (!isOwn(name) && !isOwnAddress(name)) throw foreign('Host', host, HOST_RULE + NAME_REMEDY);
      if (accepted.size < 100) accepted.add(host);
    }
    // Only pages of other sites and apps in web views ask before a request, also those on this machine.
    const isAllowed = (of: string) =>
      allowedOrigins().includes(of) ||
      (!isPreflight(request) && URL.canParse(of) && isOwn(new URL(of).hostname));
    if (origin !== undefined && !isAllowed(origin)) {
      throw foreign('Origin', origin, ORIGIN_RULE + originRemedy(origin, allowedOrigins()));
    }
    if (request.url?.[0] !== '/') throw foreign('request target', request.url, HOST_RULE);
  };
}

function isPreflight({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function countHosts({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

function hostName(host: string): string {
  // The URL parser would read these characters as the start of a user, a path or a query.
  if (/[/?#@\\\s]/.test(host) || !URL.canParse(`http://${host}`)) return '';
  return new URL(`http://${host}`).hostname;
}

function foreign(part: string, value = '', rule: string): GwError {
  return new GwError(`${part} "${value}" is not allowed: ${rule}`, {
    status: 403,
    type: 'permission_error',
    code: 'forbidden_host',
  });
}

const HOST_RULE = 'send requests to localhost, 127.0.0.1 or [::1]';
const ORIGIN_RULE =
  'web pages, and apps in web views, may use gw only if their origin is listed, also those on this machine';
const NAME_REMEDY = '. To serve gw under a name of its own: gw config set server.allowed_hosts NAME';

/** The command that allows an origin besides those that are; empty for what can't be allowed. */
function originRemedy(origin: string, allowed: readonly string[]): string {
  if (!isExactOrigin(origin)) return '';
  return `. If the page or app is yours, and its scripts may send requests with any key that they know: gw config set server.allowed_origins '${[...allowed, origin].join(',')}'`;
}

/** Headers that scripts of a page may read besides the few that they always may. */
const EXPOSED = [
  ...[
    'request-id',
    'model',
    'provider',
    'route',
    'saved-tokens',
    'cost-usd',
    'budget-remaining-usd',
    'replay',
  ].map((name) => `x-service-${name}`),
  ...['x-request-id', 'request-id', 'retry-after', 'x-should-retry'],
].join(', ');
const PREFLIGHT_MAX_AGE_S = '600';

/**
 * Lets pages of an allowed origin read the answer (https://fetch.spec.whatwg.org/#http-cors-protocol). Credentials are
 * never allowed: gw's are in a header that the page sets itself. Returns whether the request was a preflight, which is
 * answered then.
 */
export function answerCors(
  request: Pick<IncomingMessage, 'method' | 'headers'>,
  response: ServerResponse,
  allowed: readonly string[],
): boolean {
  const { headers } = request;
  const { origin } = headers;
  if (allowed.length > 0) response.setHeader('vary', 'Origin');
  if (origin === undefined || !allowed.includes(origin)) return false;
  response.setHeader('access-control-allow-origin', origin);
  if (!isPreflight(request)) {
    response.setHeader('access-control-expose-headers', EXPOSED);
    return false;
  }
  const asked = headers['access-control-request-headers'];
  // https://wicg.github.io/private-network-access/#cors-preflight
  const isPrivate = headers['access-control-request-private-network'] === 'true';
  response.writeHead(204, {
    'access-control-allow-methods': headers['access-control-request-method'],
    ...(asked === undefined ? {} : { 'access-control-allow-headers': asked }),
    ...(isPrivate ? { 'access-control-allow-private-network': 'true' } : {}),
    'access-control-max-age': PREFLIGHT_MAX_AGE_S,
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  });
  response.end();
  return true;
}
