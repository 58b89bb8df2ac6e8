import { createServer, request as forward } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';
import type { Certificate } from './certificate.ts';

export interface TestProxy {
  /** `http://127.0.0.1:PORT`, without a password. */
  url: string;
  port: number;
  /** Methods and targets: `CONNECT api.example:443`, `POST http://api.example/v1/chat/completions`. */
  seen: string[];
  /** Tunnels that are open now. */
  readonly tunnels: number;
}

interface ProxyOptions {
  /** The port of this machine that stands for all others. */
  leadsTo: number;
  /** The user and password that it asks for, as `user:password`. */
  login?: string;
  /** The status of each answer: it lets nothing through. */
  refuses?: number;
}

/** A forward proxy that leads every host to one port of this machine. */
export async function startProxy({ leadsTo, login, refuses }: ProxyOptions): Promise<TestProxy> {
  const seen: string[] = [];
  const open = new Set<Socket>();
  const expected = login && `Basic ${Buffer.from(login).toString('base64')}`;
  const refusalOf = (header: string | undefined) =>
    refuses ?? (expected && header !== expected ? 407 : undefined);

  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const status = refusalOf(request.headers['proxy-authorization']);
    if (status) return void response.writeHead(status).end();
    const { 'proxy-authorization': _own, ...headers } = request.headers;
    const { pathname, search } = new URL(request.url ?? '');
    const onward = forward(
      { host: '127.0.0.1', port: leadsTo, method: request.method, path: pathname + search, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.on('connect', (request, socket: Socket) => {
    seen.push(`CONNECT ${request.url}`);
    const status = refusalOf(request.headers['proxy-authorization']);
    if (status) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const onward = connect(leadsTo, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    open.add(onward);
    onward.pipe(socket).pipe(onward);
    for (const [each, other] of [
      [onward, socket],
      [socket, onward],
    ] as const) {
      each.on('error', () => each.destroy());
      each.on('close', () => other.destroy());
    }
    onward.on('close', () => open.delete(onward));
  });
  const port = await listening(server);
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    get tunnels() {
      return open.size;
    },
  };
}

/** A port that speaks TLS with a certificate, and leads to another port of this machine. */
export function startTlsFront({ cert, key }: Certificate, leadsTo: number): Promise<number> {
  const server = createTlsServer({ cert, key }, (socket) => {
    const onward = connect(leadsTo, '127.0.0.1');
    onward.pipe(socket).pipe(onward);
    for (const each of [socket, onward]) each.on('error', () => each.destroy());
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
  });
  server.on('tlsClientError', () => {});
  return listening(server);
}

async function listening(server: ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
