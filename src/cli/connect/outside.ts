import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP proxy that lets nothing through and remembers which hosts were asked for. */
export interface Outside {
  /** Environment variables that send all but this machine's addresses to it. */
  env: Readonly<Record<string, string>>;
  /** Hosts in the order of their first request. */
  hosts(): string[];
  close(): Promise<void>;
}

const LOOPBACK = 'localhost,127.0.0.1,::1';

/** Starts the proxy on a free port of this machine. */
export async function watchOutside(): Promise<Outside> {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    const host = URL.canParse(request.url ?? '') ? new URL(request.url ?? '').hostname : '';
    if (host !== '') seen.add(host);
    response.writeHead(403).end();
  });
  server.on('connect', (request, socket) => {
    seen.add((request.url ?? '').replace(/:\d+$/, ''));
    socket.on('error', () => socket.destroy());
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
  return {
    env: {
      ...Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()].map((each) => [each, url]))),
      NO_PROXY: LOOPBACK,
      no_proxy: LOOPBACK,
      // Node 24 reads the others only with this one.
      NODE_USE_ENV_PROXY: '1',
    },
    hosts: () => [...seen],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
