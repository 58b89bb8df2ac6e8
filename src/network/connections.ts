import { type PeerCertificate, type SecureContext, TLSSocket } from 'node:tls';
import type { Dispatcher, Pool as PoolClass, ProxyAgent } from 'undici';
import { proxyAuthorization } from '../proxy-address.ts';
import { describeConnectError } from './connect-error.ts';
import { resumeAtEnd } from './paused-parser.ts';
import { skipContinue } from './skip-continue.ts';
import { buildConnector, type Connector, loadProxyAgent, Pool } from './undici.ts';
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
