import { expect } from 'vitest';
import type { TestGateway } from '../../support/gateway.ts';
import { startBothWires } from './anthropic-gateway.ts';
import { provider } from './provider-script.ts';

/** Where a client is told to go. */
export interface Place {
  /** Ends in `/v1`. */
  baseURL: string;
  apiKey: string;
}

/**
 * What a client gets from the provider itself has to be what it gets through gw, and the provider has to be asked the
 * same: the name of the model aside, and that gw asks streams of chat completions for their usage.
 */
export async function bothWays<T>(
  run: (place: Place) => Promise<T>,
): Promise<{ result: T; gateway: TestGateway }> {
  const gateway = await startBothWires();
  gateway.upstream.script(provider);
  // Any name of the provider's own will do here: `mock` serves what nobody else does.
  gateway.configure({
    aliases: { 'test-model': 'mock/test-model' },
    providers: { anthropic: { baseUrl: gateway.upstream.url } },
  });
  const direct = await run({ baseURL: gateway.upstream.url, apiKey: 'sk-direct' });
  const asked = gateway.upstream.requests.length;
  const result = await run({ baseURL: gateway.url, apiKey: gateway.key });
  expect(plain(result)).toEqual(plain(direct));
  const [expected, sent] = [
    gateway.upstream.requests.slice(0, asked),
    gateway.upstream.requests.slice(asked),
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
  const { include_usage: _asked, ...options } = stream_options ?? {};
  return { ...rest, stream_options: options };
}
