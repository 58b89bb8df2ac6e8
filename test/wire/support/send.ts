import { type RawResponse, type RequestParts, request } from '../../support/client.ts';
import type { TestGateway } from '../../support/gateway.ts';

/** Sends a body to an endpoint of the gateway with the project's key. */
export function send(
  gateway: TestGateway,
  path: string,
  body: unknown,
  parts: RequestParts = {},
): Promise<RawResponse> {
  const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
  return request(gateway.origin + path, { ...parts, body, headers: { ...headers, ...parts.headers } });
}

/** The JSON body of the last upstream request. */
export function sentBody(gateway: TestGateway): Record<string, unknown> {
  const last = gateway.upstream.requests.at(-1);
  if (!last) throw new Error('nothing was sent upstream');
  return JSON.parse(last.body.toString());
}

/** A header of the last upstream request. */
export function sentHeader(gateway: TestGateway, name: string): string | undefined {
  const headers = gateway.upstream.requests.at(-1)?.head.headers ?? [];
  return headers.find(([key]) => key.toLowerCase() === name)?.[1];
}
