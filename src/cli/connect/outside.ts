import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** An HTTP proxy that lets nothing through but to gw, and remembers which hosts were asked for. */
interface Outside {
  /** Environment variables that send all but this machine's addresses to it. */
  env: Readonly<Record<string, string>>;
  /** Hosts in the order of their first request. */
  hosts(): string[];
  close(): Promise<void>;
}

const LOOPBACK = 'localhost,127.0.0.1,::1';

/** Starts the proxy on a free port of this machine. */
export async function watchOutside(origin: string): Promise<Outside> {
  const seen = new Set<string>();
  const { port: gwPort } = new URL(origin);
  /** Some programs ask a proxy for this machine, too: as without one, they reach gw. */
  const isGw = ({ hostname, port }: URL) => port === gwPort && LOOPBACK.split(',').includes(bare(hostname));
  const server = createServer((incoming, response) => {
    const url = urlOf(incoming.url);
    if (url && isGw(url)) {
      const { method, headers } = incoming;
      const outgoing = request({
        host: '127.0.0.1',
        port: gwPort,
        path: url.pathname + url.search,
        method,
        headers,
      });
      outgoing.on('error', () => response.destroy());
      outgoing.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(outgoing);
      return;
    }
    if (url) seen.add(bare(url.hostname));
    response.writeHead(403).end();
  });
  server.on('connect', (incoming, socket) => {
    socket.on('error', () => socket.destroy());
    const url = urlOf(`http://${incoming.url}`);
    if (url && isGw(url)) {
      const gw = connect(Number(gwPort), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        gw.pipe(socket).pipe(gw);
      });
      gw.on('error', () => socket.destroy());
      return;
    }
    if (url) seen.add(bare(url.hostname));
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

const urlOf = (text = ''): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

/** A host name without the brackets of an IPv6 address. */
const bare = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');
