const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/**
 * Adds the loopback hosts to NO_PROXY: behind a company's proxy, clients would send localhost requests to the proxy.
 */
export function withLoopback(list = ''): string {
  const hosts = list.split(',').flatMap((host) => host.trim() || []);
  return [...hosts, ...LOOPBACK.filter((host) => !hosts.includes(host))].join(',');
}
