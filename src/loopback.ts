import { isIP } from 'node:net';

/** Whether a URL's host is `localhost`, an address in 127.0.0.0/8 (not a name that starts with 127.), or ::1. */
export function isLoopback(name: string): boolean {
  const bare = name.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
