import type { Network } from '../network/network.ts';

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
      json: parseJson(text),
    };
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
