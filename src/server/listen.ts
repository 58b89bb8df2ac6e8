import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TlsIdentity } from '../config/tls.ts';

export interface Listener {
  port: number;
  /** Answers requests from now on, those first that wait already. */
  serve(handlers: Handlers): void;
  /** Stops accepting connections and closes idle ones; resolves when the last request has ended. */
  close(): Promise<void>;
  /** Closes the connections of running requests. */
  cut(): void;
  /** Uses another certificate for new connections. */
  renew(tls: TlsIdentity): void;
}

export interface ListenOptions {
  host: string;
  port: number;
  /** Speaks https with it. */
  tls?: TlsIdentity | undefined;
}

export interface Handlers {
  onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called with bytes that are not an HTTP request; ends the connection. */
  onUnreadable: (error: NodeJS.ErrnoException, socket: Duplex) => void;
}

const HEADERS_TIMEOUT_MS = 30_000;
/** Longer than clients keep idle connections, so that none is closed as its next request comes: reqwest, as in Codex, 90 s
 * (https://docs.rs/reqwest/latest/reqwest/struct.ClientBuilder.html#method.pool_idle_timeout). */
const KEEP_ALIVE_MS = 100_000;
const CLOSE_IDLE_EVERY_MS = 50;

/**
 * Listens on a host and port. `localhost` is both 127.0.0.1 and ::1, since clients resolve it to either; a machine
 * without IPv6 gets the first only. Requests wait until `serve` is called. Rejects as `server.listen` does (EADDRINUSE,
 * EACCES, EADDRNOTAVAIL).
 */
export async function listen({ host, port, tls }: ListenOptions): Promise<Listener> {
  const hosts = host === 'localhost' ? ['127.0.0.1', '::1'] : [host];
  const servers: (Server | TlsServer)[] = [];
  const waiting = createWaiting();
  let boundPort = port;
  for (const [i, each] of hosts.entries()) {
    const server = createHttpServer(tls);
    connect(server, waiting);
    try {
      boundPort = await bind(server, each, boundPort);
      servers.push(server);
    } catch (error) {
      const isOptional = i > 0 && isUnavailable(error);
      if (isOptional) continue;
      for (const open of servers) open.close();
      throw error;
    }
  }
  return {
    port: boundPort,
    serve: (handlers) => {
      for (const server of servers) connect(server, handlers);
      waiting.pass(handlers.onRequest);
    },
    close: async () => {
      const closed = Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      // A connection becomes idle when its last response ends, and its client would keep it for a minute.
      const sweep = setInterval(() => {
        for (const server of servers) server.closeIdleConnections();
      }, CLOSE_IDLE_EVERY_MS);
      await closed;
      clearInterval(sweep);
    },
    cut: () => {
      for (const server of servers) server.closeAllConnections();
    },
    renew: ({ cert, key }) => {
      for (const server of servers) if ('setSecureContext' in server) server.setSecureContext({ cert, key });
    },
  };
}

const OPTIONS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  // A slow upload is up to the client; its size is bounded.
  requestTimeout: 0,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: 32 * 1024,
  noDelay: true,
  // Node's own response to a missing Host has no body; the guard refuses it instead.
  requireHostHeader: false,
};

function createHttpServer(tls: TlsIdentity | undefined): Server | TlsServer {
  if (!tls) return createServer(OPTIONS);
  return createTlsServer({
    ...OPTIONS,
    cert: tls.cert,
    key: tls.key,
    handshakeTimeout: HEADERS_TIMEOUT_MS,
  });
}

/** Gives a server's requests to the handlers, and to no others. */
function connect(server: Server, { onRequest, onUnreadable }: Handlers): void {
  for (const event of ['request', 'checkExpectation', 'clientError']) server.removeAllListeners(event);
  server.on('request', onRequest);
  // Node would refuse an unknown expectation without a body. A server may ignore it: RFC 9110, section 10.1.1.
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // A failed handshake, such as that of a client that speaks plain HTTP: no answer could be read.
    if (error.code?.startsWith('ERR_SSL_')) socket.destroy();
    else onUnreadable(error, socket);
  });
}

/** Handlers that keep requests, unread, until they are passed on. Answers `GET /health` with 503 `starting`. */
function createWaiting(): Handlers & { pass(onRequest: Handlers['onRequest']): void } {
  const requests = new Map<ServerResponse, IncomingMessage>();
  return {
    onRequest: (request, response) => {
      if (request.url === '/health') {
        response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' });
        response.end('{"status":"starting"}\n');
        return;
      }
      requests.set(response, request);
      response.once('close', () => requests.delete(response));
    },
    onUnreadable: (_error, socket) => socket.destroy(),
    pass: (onRequest) => {
      for (const [response, request] of requests) onRequest(request, response);
      requests.clear();
    },
  };
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, ipv6Only: host === '::1', backlog: 1024 }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function isUnavailable(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}
