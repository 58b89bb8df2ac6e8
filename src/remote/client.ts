import { type ErrorType, GwError, messageOf } from '../errors.ts';
import { isObject, jsonOf } from '../json/object.ts';
import type { Network } from '../network/network.ts';
import { isOlder, VERSION } from '../version.ts';
import type { RemoteGateway } from './target.ts';

/**
 * Makes one request to gw's own API and returns the parsed body of the answer. Throws GwError: the server's own, or one
 * whose message says what is wrong with the URL, the key, the network or the versions. Its code is `server_unreachable`
 * if no gw answers.
 */
export type AskRemote = (request: RemoteRequest) => Promise<unknown>;

export interface RemoteOptions {
  /** Loaded at the first request. */
  network(): Promise<Network>;
  /** Limit of one request. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;

/** The oldest version with the paths under `/v1/gw`. Within a major version, they only gain fields. */
const OLDEST = '0.2.0';

/**
 * Connects to a remote gw at the first request. Asks `/health` before anything else: whatever answers there and is not
 * a gw of a known version does not get the key.
 */
export function connectRemote(
  { url, key }: Pick<RemoteGateway, 'url' | 'key'>,
  { network, timeoutMs = TIMEOUT_MS }: RemoteOptions,
): AskRemote {
  let send: Promise<Send> | undefined;
  let checked: Promise<string> | undefined;

  async function exchange(request: RemoteRequest, headers: Record<string, string> = {}): Promise<Answer> {
    try {
      send ??= network().then((ways) => createSend(url, ways, timeoutMs));
      return await (await send)(request, headers);
    } catch (error) {
      throw connectionFailure(error, { url, network: await network(), timeoutMs });
    }
  }

  /** The server's version. */
  async function check(): Promise<string> {
    const answer = await exchange({ path: '/health' });
    const version = versionOf(answer);
    if (version === undefined) throw notGateway(url, answer);
    if (Number.parseInt(version, 10) > Number.parseInt(VERSION, 10))
      throw mismatch(url, version, `gw ${VERSION} does not understand: update this gw`);
    // A build between two releases has the version of the last one.
    if (version !== VERSION && isOlder(version, OLDEST))
      throw mismatch(url, version, `other machines cannot manage: update it to ${OLDEST} or later`);
    return version;
  }

  return async (request) => {
    checked ??= check();
    const version = await checked;
    const answer = await exchange(request, { authorization: `Bearer ${key}` });
    if (answer.status >= 200 && answer.status < 300 && answer.json !== undefined) return answer.json;
    const fault = faultOf(answer);
    if (fault === undefined) throw notGateway(url, answer);
    if (fault.code === 'unknown_endpoint')
      throw mismatch(url, version, `has no ${request.path}. This is gw ${VERSION}: update the older one`);
    throw refusal(url, fault);
  };
}

/** The version that the `/health` of a gw reports. */
function versionOf({ json }: Answer): string | undefined {
  const { version, instance_id } = isObject(json) ? json : {};
  if (typeof version !== 'string' || typeof instance_id !== 'string') return undefined;
  return /^\d+\.\d+\.\d+/.test(version) ? version : undefined;
}

/** The error object in an answer of gw. */
interface Fault {
  status: number;
  message: string;
  type: ErrorType;
  code: string;
}

const TYPES: Record<ErrorType, true> = {
  authentication_error: true,
  permission_error: true,
  not_found_error: true,
  invalid_request_error: true,
  insufficient_quota: true,
  rate_limit_error: true,
  api_error: true,
};

/** The error of an answer; undefined if it has none of gw's shape. */
function faultOf({ status, json }: Answer): Fault | undefined {
  const error = isObject(json) ? json.error : undefined;
  if (!isObject(error)) return undefined;
  const { message, type, code } = error;
  if (typeof message !== 'string' || typeof type !== 'string' || typeof code !== 'string') return undefined;
  // A newer gw may have types that this one does not know.
  return { status, message, code, type: Object.hasOwn(TYPES, type) ? (type as ErrorType) : 'api_error' };
}

/** The error for a refusal by the server: its own, unless the remedy differs on another machine. */
function refusal(url: string, { message, ...fault }: Fault): GwError {
  const remedies: Record<string, string> = {
    invalid_api_key: `${url} does not know the key, or it was revoked. To use another: export GW_KEY=KEY, or: gw login ${url}`,
    admin_required: `this needs an admin key of ${url}. To make one, on its machine: gw keys create --admin`,
  };
  return new GwError(
    Object.hasOwn(remedies, fault.code) ? (remedies[fault.code] ?? message) : message,
    fault,
  );
}

/** The error for an answer that does not come from gw. */
function notGateway(url: string, answer: Answer): GwError {
  const fault = faultOf(answer);
  // The Host guard of a gw that does not know the name.
  if (fault?.code === 'forbidden_host') return refusal(url, fault);
  const { status, location, text, json } = answer;
  if (status === 407) return unreachable(proxyWantsPassword(url));
  if (status >= 300 && status < 400 && location !== undefined)
    return unreachable(
      `${url} redirects to ${location.replace(/\/health$/, '')}: use the URL that answers there`,
    );
  if (status >= 502 && status <= 504) {
    return unreachable(
      `a proxy before ${url} answers HTTP ${status}: the gw behind it is down or out of reach`,
    );
  }
  const what = /^\s*</.test(text) ? 'a web page' : json === undefined ? 'something else' : 'other JSON';
  return unreachable(`no gw answers at ${url}: it sent ${what} (HTTP ${status}). Check the URL`);
}

/** The error for a server of another version, `which` has or lacks something. */
function mismatch(url: string, version: string, which: string): GwError {
  const message = `${url} runs gw ${version}, which ${which}`;
  return new GwError(message, { status: 501, type: 'api_error', code: 'version_mismatch' });
}

/** The error for a request without an answer. */
function connectionFailure(
  error: unknown,
  { url, network, timeoutMs }: { url: string; network: Network; timeoutMs: number },
): GwError {
  if (error instanceof GwError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'PROXY_AUTH') return unreachable(proxyWantsPassword(url), error);
  if (code === 'PROXY_REFUSED') return unreachable(messageOf(error), error);
  const { source } = network.wayTo(new URL(url));
  const detour = source
    ? `. ${source} is set: to go around it, add ${new URL(url).hostname} to NO_PROXY`
    : '';
  return unreachable(`${reasonOf(error, url, timeoutMs)}${detour}`, error);
}

function proxyWantsPassword(url: string): string {
  return `the proxy between this machine and ${url} asks for a password (HTTP 407): gw config set proxy.url http://USER:PASSWORD@HOST:PORT`;
}

/** What went wrong, as a sentence. */
function reasonOf(error: unknown, url: string, timeoutMs: number): string {
  const { hostname, host } = new URL(url);
  const { name, code = '' } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return `${url} did not answer within ${timeoutMs / 1000} s`;
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `no address is known for ${hostname} (${code}): check the URL and the network`;
    case 'ECONNREFUSED':
      return `nothing listens at ${url}: check the URL, and that gw runs there`;
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${url} cannot be reached (${code}): check the network, and the firewalls in between`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate of ${url} is for other names: use one of them`;
    case 'CERT_HAS_EXPIRED':
      return `the certificate of ${url} has expired: renew it on the server`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'EPROTO':
      return `${url} does not speak TLS: check the port, or use http://${host}`;
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
      return `${url} closed the connection without an answer: check the port, and whether it is https`;
  }
  if (/CERT|ISSUER|SIGNATURE/.test(code))
    return `the certificate of ${url} is not trusted (${code}): to trust its authority: gw config set tls.ca_file FILE.pem`;
  if (name === 'HTTPParserError')
    return `${url} does not speak HTTP: check the port, and whether it is https`;
  return `${url} cannot be reached: ${messageOf(error)}`;
}

function unreachable(message: string, cause?: unknown): GwError {
  return new GwError(message, { status: 503, type: 'api_error', code: 'server_unreachable', cause });
}

export interface RemoteRequest {
  /** Default: GET. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Such as `/v1/gw/keys`. */
  path: string;
  /** Undefined values are left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: unknown;
}

/** An answer that may not come from gw. */
export interface Answer {
  status: number;
  location: string | undefined;
  text: string;
  /** Undefined if the text is not JSON. */
  json: unknown;
}

/** Makes one request. Rejects if no complete answer arrives in time. Follows no redirects: they would get the key. */
export type Send = (request: RemoteRequest, headers: Record<string, string>) => Promise<Answer>;

/** Sends requests to `url`. */
export async function createSend(url: string, network: Network, timeoutMs: number): Promise<Send> {
  // Loaded at the first request, so that local commands don't load an HTTP client.
  const { request: ask } = await import('undici');
  const dispatcher = network.open(new URL(url));
  return async ({ method = 'GET', path, query = {}, body }, headers) => {
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const search = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
    const response = await ask(`${url}${path}${search}`, {
      dispatcher,
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.body.text();
    const { location } = response.headers;
    return {
      status: response.statusCode,
      location: typeof location === 'string' ? location : undefined,
      text,
      json: jsonOf(text),
    };
  };
}
