import { lookup } from 'node:dns/promises';
import { hostname, networkInterfaces } from 'node:os';
import { isLoopback } from '../../loopback.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { usageError } from '../exit.ts';
import { readSettings } from '../settings.ts';

const LOOKUP_MS = 2_000;

/** Refuses the address of this gw as that of a provider: each request would come back to it until memory runs out. */
export async function refuseOwnAddress(context: Context, name: string, baseUrl: string): Promise<void> {
  const url = new URL(baseUrl);
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  const { settings } = readSettings(context);
  const refuse = (how: string) => {
    throw usageError(
      `"${baseUrl}" is this gw itself (${how}), so its requests would go round in circles. Give the address of ${name}`,
    );
  };
  if (settings['server.allowed_hosts'].names.includes(host)) refuse('server.allowed_hosts names it');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const state = await findDaemon(context);
  const ports = [settings.port, ...(state.kind === 'running' ? [state.daemon.port] : [])];
  if (!ports.includes(port)) return;
  const own = [hostname().toLowerCase(), settings.host.toLowerCase()];
  if (own.includes(host) || isThisMachine(host)) refuse(`port ${port} of this machine`);
  const addresses = await addressesOf(host);
  if (addresses.some(isThisMachine)) refuse(`${host} is this machine, and port ${port} is gw's`);
}

function isThisMachine(host: string): boolean {
  if (isLoopback(host) || host.endsWith('.localhost') || host === '0.0.0.0' || host === '::') return true;
  // 127.0.0.0/8 as the URL parser writes it in IPv6.
  if (/^::ffff:(7f[0-9a-f]{2}:|127\.)/.test(host)) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === host));
}

/** Empty for a name that can't be resolved in time: it may be known later, or elsewhere. */
async function addressesOf(host: string): Promise<string[]> {
  const found = lookup(host, { all: true }).catch(() => []);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never[]>((resolve) => {
    timer = setTimeout(resolve, LOOKUP_MS, []);
  });
  const addresses = await Promise.race([found, late]);
  clearTimeout(timer);
  return addresses.map(({ address }) => address.toLowerCase());
}
