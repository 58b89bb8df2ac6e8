import { onTestFinished } from 'vitest';
import { type GatewayOptions, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startUpstream } from '../../support/upstream.ts';

export const CLAUDE = 'claude-sonnet-4-5';

/** A gateway with two providers on one upstream: `mock` has OpenAI's APIs, `anthropic` has Anthropic's. */
export async function startBothWires(options: GatewayOptions = {}): Promise<TestGateway> {
  const upstream = options.upstream ?? (await startUpstream());
  const { providers, ...settings } = options.settings ?? {};
  const gateway = await startGateway({
    ...options,
    upstream,
    settings: { ...settings, providers: { anthropic: { baseUrl: upstream.url }, ...providers } },
    credentials: options.credentials ?? { mock: 'provider-key', anthropic: 'sk-ant-provider' },
    whenDone: (stop) =>
      (options.whenDone ?? onTestFinished)(async () => {
        await stop();
        if (!options.upstream) await upstream.close();
      }),
  });
  return gateway;
}
