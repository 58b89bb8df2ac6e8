import dns from 'node:dns';
import { onTestFinished, vi } from 'vitest';

/** Lets a host name lead to this machine until the test is over. Returns the upstream's base URL under that name. */
export function namedHost(host: string, upstream: { port: number }): string {
  const original = dns.lookup;
  const lookup = (name: string, options: dns.LookupOptions, callback: (...answer: unknown[]) => void) => {
    if (name !== host) return original(name, options, callback as never);
    const address = '127.0.0.1';
    if (options.all) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
  };
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(lookup as never);
  onTestFinished(() => spy.mockRestore());
  return `http://${host}:${upstream.port}/v1`;
}
