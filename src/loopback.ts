import { isIP } from 'node:net';

/** Whether a URL's host name is this machine: `localhost`, 127.0.0.0/8 as an address (not as a prefix), or ::1. */
export function isLoopback(name: string): boolean {
  const bare = name.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
