const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/** A NO_PROXY list with this machine in it: behind a company's proxy, clients would ask the proxy for localhost. */
export function withLoopback(list = ''): string {
  const hosts = list.split(',').flatMap((host) => host.trim() || []);
  return [...hosts, ...LOOPBACK.filter((host) => !hosts.includes(host))].join(',');
}
