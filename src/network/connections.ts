import type { Socket } from 'node:net';
import { type PeerCertificate, type SecureContext, TLSSocket } from 'node:tls';
import type { Dispatcher, Pool as PoolClass, ProxyAgent } from 'undici';
import { proxyAuthorization } from '../proxy-address.ts';
import { describeConnectError } from './connect-error.ts';
import { buildConnector, type Connector, loadProxyAgent, Pool, parserKey } from './undici.ts';
import type { WayOut } from './way-out.ts';

export interface PoolOptions {
  /** Time limit of a connection; through a proxy, of each of its steps. Default: 10 s. */
  connectTimeoutMs?: number;
  /** Options of the pool of connections. */
  pool?: PoolClass.Options;
  /** Makes the connector of a direct way, given a function that builds undici's own. */
  direct?: (build: typeof buildConnector) => Connector;
  /** Called with the certificate of an https origin, whoever signed it, instead of connecting: nothing is sent. */
  onCertificate?: (certificate: PeerCertificate) => void;
}

interface ConnectionOptions extends PoolOptions {
  secureContext: SecureContext | undefined;
}

/**
 * Opens connections to an origin as needed: directly, by a tunnel through a proxy for https, and by requests to the
 * proxy itself for http, as proxies commonly tunnel https only (https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6).
 */
export function openConnections(origin: string, way: WayOut, options: ConnectionOptions): Dispatcher {
  const { connectTimeoutMs: timeout = 10_000, secureContext, onCertificate, pool = {} } = options;
  const toProxy = { timeout, ...(secureContext ? { secureContext } : {}) };
  const toOrigin = { ...toProxy, ...(onCertificate ? { rejectUnauthorized: false } : {}) };
  const prepared = (connect: Connector) => prepare(connect, origin, way, onCertificate);
  if (!way.proxy) {
    const { direct = (build) => build() } = options;
    const connect = direct((own) => buildConnector({ ...toOrigin, ...own }));
    return new Pool(origin, { ...pool, connect: prepared(connect) });
  }
  const token = proxyAuthorization(way.proxy);
  if (origin.startsWith('http:')) {
    const connect = prepared(buildConnector(toProxy));
    return createForwarding(origin, way.proxy.origin, token, { ...pool, connect });
  }
  return createTunnels(origin, {
    uri: way.proxy.origin,
    ...(token === undefined ? {} : { token }),
    requestTls: toOrigin as NonNullable<ProxyAgent.Options['requestTls']>,
    proxyTls: toProxy as NonNullable<ProxyAgent.Options['proxyTls']>,
    clientFactory: (url, own) => new Pool(url, { ...own, headersTimeout: timeout }),
    factory: (url, own) =>
      new Pool(url, { ...pool, connect: prepared((own as { connect: Connector }).connect) }),
  });
}

/** Connects as `connect` does, to a socket whose answers begin after any `100 Continue`; explains why it can't. */
function prepare(
  connect: Connector,
  origin: string,
  way: WayOut,
  onCertificate: PoolOptions['onCertificate'],
): Connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) return callback(describeConnectError(error, origin, way), null);
      if (onCertificate && socket instanceof TLSSocket) {
        onCertificate(socket.getPeerCertificate());
        socket.destroy();
        return callback(new Error('the connection was for its certificate'), null);
      }
      skipContinue(socket);
      resumeAtEnd(socket);
      callback(null, socket);
    });
}

/** A pool of connections to a proxy, whose requests name the whole address (RFC 9112, 3.2.2). */
function createForwarding(
  origin: string,
  proxy: string,
  token: string | undefined,
  options: PoolClass.Options,
): Dispatcher {
  const pool = new Pool(proxy, options);
  const { dispatch } = pool;
  const own = ['host', new URL(origin).host, ...(token === undefined ? [] : ['proxy-authorization', token])];
  pool.dispatch = (request, handler) =>
    dispatch.call(
      pool,
      {
        ...request,
        origin: proxy,
        path: `${origin}${request.path}`,
        headers: [...own, ...flat(request.headers)],
      },
      handler,
    );
  return pool;
}

/** undici's ProxyAgent for one origin. It takes headers by name, so repeated ones become lists. */
function createTunnels(origin: string, options: ProxyAgent.Options): Dispatcher {
  const agent = new (loadProxyAgent())(options);
  const { dispatch } = agent;
  agent.dispatch = (request, handler) =>
    dispatch.call(agent, { ...request, origin, headers: byName(flat(request.headers)) }, handler);
  return agent;
}

function flat(headers: Dispatcher.DispatchOptions['headers']): string[] {
  if (Array.isArray(headers)) return headers;
  return Object.entries(headers ?? {}).flatMap(([name, value]) =>
    [value].flat().flatMap((each) => (each === undefined ? [] : [name, String(each)])),
  );
}

function byName(headers: readonly string[]): Record<string, string[]> {
  const lists: Record<string, string[]> = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? '';
    lists[name] = [...(lists[name] ?? []), headers[i + 1] ?? ''];
  }
  return lists;
}

/** What undici's parser of HTTP/1 has of use here. */
interface Parser {
  paused: boolean;
  /** Null once it is destroyed. */
  ptr: number | null;
  llhttp: { llhttp_resume(ptr: number): void };
  execute(chunk: Buffer): void;
}

const NOTHING = Buffer.alloc(0);
/** Once for the body, once for the end of the message; then nothing is left to pause at. */
const MOST_PAUSES = 3;

/**
 * Lets the parser of an answer go on when its connection ends while a slow client has paused it: undici 7 ends the
 * process there (https://github.com/nodejs/undici/issues/5360, mended in undici 8, which needs Node 22). Call it before
 * undici has the socket, so that its listeners come second.
 */
function resumeAtEnd(socket: Socket): void {
  const resume = () => {
    const parser = (socket as unknown as Record<symbol, Parser | null | undefined>)[parserKey];
    for (let i = 0; i < MOST_PAUSES && parser?.paused && parser.ptr !== null; i++) {
      parser.llhttp.llhttp_resume(parser.ptr);
      parser.paused = false;
      if (i < MOST_PAUSES - 1) parser.execute(NOTHING);
    }
  };
  for (const event of ['end', 'error', 'close']) socket.on(event, resume);
}

const HEAD = Buffer.from('HTTP/1.1 100');
/** `HTTP/1.0 100`: some servers answer so. */
const VERSION_AT = 7;
const END = Buffer.from('\r\n\r\n');
/** A longer head is left to the parser, which refuses it. */
const MAX_HEAD_BYTES = 16_384;

/**
 * Drops the `100 Continue` that a server may send unasked before its answer, as any client has to
 * (https://www.rfc-editor.org/rfc/rfc9110#section-15.2): undici takes it for a bad response.
 */
function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write;
  /** The next bytes begin an answer. */
  let isAtHead = true;
  let held: Buffer | undefined;
  socket.write = function (this: Socket, ...args: unknown[]) {
    isAtHead = true;
    return Reflect.apply(write, this, args);
  } as typeof socket.write;
  socket.read = (size?: number) => {
    if (!isAtHead || size !== undefined) return read(size);
    for (;;) {
      const chunk: Buffer | null = read();
      if (chunk === null) return null;
      const bytes: Buffer = held ? Buffer.concat([held, chunk]) : chunk;
      held = undefined;
      const rest = afterContinue(bytes);
      if (rest === undefined && bytes.length < MAX_HEAD_BYTES) {
        held = bytes;
        continue;
      }
      if (rest?.length === 0) continue;
      isAtHead = false;
      return rest ?? bytes;
    }
  };
}

/** The bytes behind all informational heads of status 100; undefined if more bytes have to tell. */
function afterContinue(bytes: Buffer): Buffer | undefined {
  let rest = bytes;
  for (;;) {
    const length = Math.min(rest.length, HEAD.length);
    for (let i = 0; i < length; i++) if (rest[i] !== HEAD[i] && i !== VERSION_AT) return rest;
    if (rest.length === 0) return rest;
    const end = rest.length < HEAD.length ? -1 : rest.indexOf(END);
    if (end < 0) return undefined;
    rest = rest.subarray(end + END.length);
  }
}
