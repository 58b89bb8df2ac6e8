import { expect } from 'vitest';
import type { TestGateway } from '../../support/gateway.ts';
import { startBothWires } from './anthropic-gateway.ts';
import { provider } from './provider-script.ts';

/** The server that a client connects to. */
export interface Endpoint {
  /** Ends in `/v1`. */
  baseURL: string;
  apiKey: string;
}

/**
 * Runs a client directly against the provider and through gw. Results and upstream requests must be equal, except
 * that gw requests the usage of streamed chat completions.
 */
export async function directAndThroughGw<T>(
  run: (endpoint: Endpoint) => Promise<T>,
): Promise<{ result: T; gateway: TestGateway }> {
  const gateway = await startBothWires();
  gateway.upstream.script(provider);
  // The client uses one model name both times, so gw needs an alias.
  gateway.configure({
    aliases: { 'test-model': 'mock/test-model' },
    providers: { anthropic: { baseUrl: gateway.upstream.url } },
  });
  const direct = await run({ baseURL: gateway.upstream.url, apiKey: 'sk-direct' });
  const directCount = gateway.upstream.requests.length;
  const result = await run({ baseURL: gateway.url, apiKey: gateway.key });
  expect(plain(result)).toEqual(plain(direct));
  const [expected, sent] = [
    gateway.upstream.requests.slice(0, directCount),
    gateway.upstream.requests.slice(directCount),
  ];
  expect(sent.map(({ path }) => path)).toEqual(expected.map(({ path }) => path));
  expect(sent.map(({ body }) => comparable(body))).toEqual(expected.map(({ body }) => comparable(body)));
  const records = await gateway.settled(sent.length);
  expect(records.every(({ outcome, inputTokens }) => outcome === 'ok' && inputTokens > 0)).toBe(true);
  return { result, gateway };
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function comparable(body: Buffer): unknown {
  const { stream_options, ...rest } = JSON.parse(body.toString());
  const { include_usage: _usage, ...options } = stream_options ?? {};
  return { ...rest, stream_options: options };
}
