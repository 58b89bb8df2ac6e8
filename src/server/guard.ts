import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { badRequest, GwError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

/**
 * Refuses what a web page could send through a browser: a foreign `Host` (DNS rebinding) or a foreign `Origin`.
 * The port does not matter, the name does.
 */
export function createGuard(boundTo: string): (request: IncomingMessage) => void {
  const accepted = new Set<string>();
  const ownNames = [boundTo, hostname().toLowerCase()];
  const isOwn = (name: string) => isLoopback(name) || ownNames.includes(name);
  // Rebinding needs a name. Bound to more than loopback, gw is reached by any of the machine's addresses.
  const isOwnAddress = (name: string) => !isLoopback(boundTo) && isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return (request) => {
    const { host, origin } = request.headers;
    if (host === undefined)
      throw badRequest('the Host header is missing: send localhost', undefined, 'missing_host');
    if (countHosts(request) !== 1) throw foreign('Host', host);
    if (!accepted.has(host)) {
      const name = hostName(host);
      if (!isOwn(name) && !isOwnAddress(name)) throw foreign('Host', host);
      if (accepted.size < 100) accepted.add(host);
    }
    if (origin !== undefined && !(URL.canParse(origin) && isOwn(new URL(origin).hostname))) {
      throw foreign('Origin', origin);
    }
    if (request.url?.[0] !== '/') throw foreign('request target', request.url);
  };
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
  // What would be a user, a path or a query to the URL parser is none of a host.
  if (/[/?#@\\\s]/.test(host) || !URL.canParse(`http://${host}`)) return '';
  return new URL(`http://${host}`).hostname;
}

function foreign(what: string, value: string | undefined): GwError {
  return new GwError(
    `the ${what} "${value ?? ''}" is not gw's: requests must be made to localhost, 127.0.0.1 or [::1], not through a web page of another site`,
    { status: 403, type: 'permission_error', code: 'forbidden_host' },
  );
}
