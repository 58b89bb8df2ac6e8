import type { Socket } from 'node:net';
import { type PeerCertificate, type SecureContext, TLSSocket } from 'node:tls';
import type { Dispatcher, Pool as PoolClass, ProxyAgent } from 'undici';
import { proxyAuthorization } from '../proxy-address.ts';
import { describeConnectError } from './connect-error.ts';
import { buildConnector, type Connector, loadProxyAgent, Pool, parserKey } from './undici.ts';
import type { WayOut } from './way-out.ts';

export interface PoolOptions {
  /** Timeout of a connection; through a proxy, of each of its steps. Default: 10 s. */
  connectTimeoutMs?: number;
  /** Options of the connection pool. */
  pool?: PoolClass.Options;
  /** Creates the connector for direct connections; `build` creates undici's own connector. */
  direct?: (build: typeof buildConnector) => Connector;
  /** If set, gw only fetches an https origin's certificate, trusted or not, and sends nothing. */
  onCertificate?: (certificate: PeerCertificate) => void;
}

interface ConnectionOptions extends PoolOptions {
  secureContext: SecureContext | undefined;
}

/**
 * Opens connections to an origin on demand: directly, by a tunnel through a proxy for https, or by requests to the
 * proxy itself for http, because proxies commonly tunnel only https
 * (https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6).
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

/** Wraps a connector: explains its errors, skips `100 Continue` on the socket, and applies `resumeAtEnd`. */
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

/** A pool of connections to a proxy. Requests use the absolute form of the URL (RFC 9112, 3.2.2). */
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

/** undici's ProxyAgent for one origin. It requires headers by name, so repeated headers become lists. */
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

/** The used members of undici's HTTP/1 parser. */
interface Parser {
  paused: boolean;
  /** Null after destruction. */
  ptr: number | null;
  llhttp: { llhttp_resume(ptr: number): void };
  execute(chunk: Buffer): void;
}

const NOTHING = Buffer.alloc(0);
/** Once for the body and once for the end of the message; after that, there is nothing to pause at. */
const MOST_PAUSES = 3;

/**
 * Resumes the parser when its connection ends while a slow client has paused it. Otherwise undici 7 ends the process
 * (https://github.com/nodejs/undici/issues/5360, fixed in undici 8, which needs Node 22). Call this before undici gets
 * the socket, so that undici's listeners run second.
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
/** Position of the minor version; some servers send `HTTP/1.0 100`. */
const VERSION_AT = 7;
const END = Buffer.from('\r\n\r\n');
/** The parser refuses longer heads. */
const MAX_HEAD_BYTES = 16_384;

/**
 * Drops an unsolicited `100 Continue` before an answer, as clients must
 * (https://www.rfc-editor.org/rfc/rfc9110#section-15.2). undici treats it as a bad response.
 */
function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write;
  /** Whether the next bytes begin an answer. */
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

/** The bytes after all heads of status 100; undefined if more bytes are needed to decide. */
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
