import { onTestFinished } from 'vitest';
import type { ProviderSettings } from '../../../../src/config/settings.ts';
import type { RequestParts } from '../../../support/client.ts';
import type { RecordedRequest } from '../../../support/exchange.ts';
import { type GatewayOptions, startGateway, type TestGateway } from '../../../support/gateway.ts';
import { startUpstream } from '../../../support/upstream.ts';
import { send } from '../../../wire/support/send.ts';

export const QUESTION = [{ role: 'user' as const, content: 'Hi' }];

/** A gateway whose providers are accounts at clouds, all of them behind one scripted upstream. */
export async function startClouds(
  providers: Record<string, ProviderSettings>,
  options: GatewayOptions = {},
): Promise<TestGateway> {
  const upstream = options.upstream ?? (await startUpstream());
  const origin = `http://127.0.0.1:${upstream.port}`;
  const accounts = Object.entries(providers).map(([name, { baseUrl = '', ...rest }]) => [
    name,
    { baseUrl: origin + baseUrl, ...rest },
  ]);
  return startGateway({
    ...options,
    upstream,
    settings: { ...options.settings, providers: Object.fromEntries(accounts) },
    whenDone: (stop) =>
      onTestFinished(async () => {
        await stop();
        await upstream.close();
      }),
  });
}

/** Sends a message, as Anthropic's clients do. */
export const ask = (gateway: TestGateway, model: string, rest: object = {}, parts?: RequestParts) =>
  send(gateway, '/v1/messages', { model, max_tokens: 100, messages: QUESTION, ...rest }, parts);

/** A header of a request; undefined without it. Throws where it was sent twice. */
export function headerIn({ head }: RecordedRequest, name: string): string | undefined {
  const values = head.headers.filter(([key]) => key.toLowerCase() === name);
  if (values.length > 1) throw new Error(`${name} was sent ${values.length} times`);
  return values[0]?.[1];
}

/** Sets variables of the environment, which the clouds' packages read, until the test is over. */
export function setEnv(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    process.env[name] = value;
    onTestFinished(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}
