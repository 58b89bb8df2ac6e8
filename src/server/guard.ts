import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { badRequest, GwError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

export interface GuardOptions {
  /** The configured host that gw listens on. */
  boundTo: string;
  /** The names under which gw is served besides; a new list after each change. */
  allowedHosts: () => readonly string[];
}

/**
 * Refuses requests that a web page could send through a browser: those with a foreign `Host` (DNS rebinding) or a
 * foreign `Origin`. Compares host names only, not ports.
 */
export function createGuard({ boundTo, allowedHosts }: GuardOptions): (request: IncomingMessage) => void {
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
  // The URL parser would read these characters as the start of a user, a path or a query.
  if (/[/?#@\\\s]/.test(host) || !URL.canParse(`http://${host}`)) return '';
  return new URL(`http://${host}`).hostname;
}

function foreign(part: string, value: string | undefined): GwError {
  return new GwError(
    `${part} "${value ?? ''}" is not allowed: send requests to localhost, 127.0.0.1 or [::1], and not from a web page of another site${part === 'Host' ? '. To serve gw under a name of its own: gw config set server.allowed_hosts NAME' : ''}`,
    { status: 403, type: 'permission_error', code: 'forbidden_host' },
  );
}
