import type { EnvHttpProxyAgent } from 'undici';
import { isLoopback } from '../loopback.ts';

type Environment = Readonly<Record<string, string | undefined>>;

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

/** Sends requests to `url` through the proxy that the environment names for it. */
export async function createSend(url: string, env: Environment, timeoutMs: number): Promise<Send> {
  // Loaded at the first request, so that local commands don't load an HTTP client.
  const undici = await import('undici');
  const dispatcher = new undici.EnvHttpProxyAgent(proxyOptions(url, env));
  return async ({ method = 'GET', path, query = {}, body }, headers) => {
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const search = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
    const response = await undici.request(`${url}${path}${search}`, {
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
      json: parseJson(text),
    };
  };
}

/** The variable that names the proxy for a URL; undefined if there is none. NO_PROXY is not considered. */
export function proxyVariable(url: string, env: Environment): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (isLoopback(hostname)) return undefined;
  const names = protocol === 'https:' ? ['https_proxy', 'http_proxy'] : ['http_proxy'];
  return names.flatMap((name) => [name, name.toUpperCase()]).find((name) => env[name]);
}

function proxyOptions(url: string, env: Environment): EnvHttpProxyAgent.Options {
  const value = (name: string) => env[name] || env[name.toUpperCase()] || '';
  return {
    httpProxy: value('http_proxy'),
    httpsProxy: value('https_proxy'),
    // As in Go: this machine is never reached through a proxy.
    noProxy: isLoopback(new URL(url).hostname) ? '*' : value('no_proxy'),
    // Proxies commonly refuse to tunnel plain HTTP.
    proxyTunnel: false,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
