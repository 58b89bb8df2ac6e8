import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import type { TestBudget, TestSettings } from '../support/home.ts';
import { subscriptionsAt } from '../support/subscriptions.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import type { RealAgent } from './agents.ts';
import { anyWire } from './any-wire.ts';
import { installAgent } from './install-agent.ts';
import { startWayOut } from './way-out.ts';

export const GW = join(import.meta.dirname, '../../bin/gw');

/** The project of agents and clients. It is the second one: it shares the providers with `default`. */
export const PROJECT = 'web';
/** What charges it, after a command's name. */
export const IN_PROJECT = ['-p', PROJECT] as const;

/**
 * A gateway with the three providers, and the services of logins, on the scripted upstream. Its key and budgets are those of
 * the second project; each of the two has a budget.
 */
export async function gatewayOfBoth(settings: TestSettings = {}) {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const gateway = await startGateway({
    upstream,
    subscriptions: subscriptionsAt(upstream),
    settings: { providers: {} },
    credentials: {
      ...{ openai: 'sk-provider', anthropic: 'sk-ant-provider', gemini: 'AIza-provider' },
      ...{ azure: 'azure-key', bedrock: 'aws-key', vertex: 'google-key' },
    },
  });
  const providers = {
    ...settings.providers,
    openai: { baseUrl: gateway.upstream.url },
    anthropic: { baseUrl: gateway.upstream.url },
    gemini: { baseUrl: gateway.upstream.url },
  };
  gateway.configure({ ...settings, providers });
  gateway.upstream.script(anyWire);
  const project = await gateway.newProject(PROJECT);
  await gateway.setBudget({ period: 'monthly', capUsd: 1_000 });
  await gateway.setBudget({ period: 'monthly', capUsd: 1_000 }, project);
  return {
    ...gateway,
    project,
    key: await gateway.newKey(PROJECT),
    setBudget: (budget: TestBudget, of = project) => gateway.setBudget(budget, of),
  };
}

/** An installed agent in a home whose files and variables lead elsewhere, with a proxy to all the rest. */
export async function stageFor(agent: RealAgent, settings: TestSettings = {}) {
  const path = await installAgent(agent.package);
  const gateway = await gatewayOfBoth(settings);
  const elsewhere = await startWayOut();
  const proxy = await startWayOut();
  const home = tmpHome();
  mkdirSync(join(home, 'work'));
  for (const [name, content] of Object.entries(agent.files(elsewhere.url))) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
  const env: Record<string, string> = {
    GW_HOME: gateway.paths.home,
    GW_PORT: String(gateway.daemon.port),
    OPENAI_API_KEY: 'sk-mine',
    OPENAI_BASE_URL: `${elsewhere.url}/v1`,
    ANTHROPIC_API_KEY: 'sk-ant-mine',
    ANTHROPIC_BASE_URL: elsewhere.url,
    ...Object.fromEntries(proxies.map((name) => [name, proxy.url])),
    ...agent.env,
  };
  return { path, gateway, elsewhere, proxy, home, env };
}
