import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { start } from '../wire/support/programs.ts';
import { REAL_AGENTS, type RealAgent } from './agents.ts';
import { anyWire } from './any-wire.ts';
import { installAgent } from './install-agent.ts';
import { startWayOut } from './way-out.ts';

const GW = join(import.meta.dirname, '../../bin/gw');

/** A gateway with both providers on the scripted upstream. */
async function gatewayOfBoth() {
  const gateway = await startGateway({
    settings: { providers: {} },
    credentials: { openai: 'sk-provider', anthropic: 'sk-ant-provider' },
  });
  const providers = {
    openai: { baseUrl: gateway.upstream.url },
    anthropic: { baseUrl: gateway.upstream.url },
  };
  gateway.configure({ providers });
  gateway.upstream.script(anyWire);
  return gateway;
}

/** Asks an agent a question, through `gw run` or not, with settings that lead elsewhere and a proxy to all the rest. */
async function ask(agent: RealAgent, { throughGw = true } = {}) {
  const path = await installAgent(agent.package);
  const gateway = await gatewayOfBoth();
  const elsewhere = await startWayOut();
  const proxy = await startWayOut();
  const home = tmpHome();
  mkdirSync(join(home, 'work'));
  for (const [name, content] of Object.entries(agent.files(elsewhere.url))) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
  const env = {
    GW_HOME: gateway.paths.home,
    GW_PORT: String(gateway.daemon.port),
    OPENAI_API_KEY: 'sk-mine',
    OPENAI_BASE_URL: `${elsewhere.url}/v1`,
    ANTHROPIC_API_KEY: 'sk-ant-mine',
    ANTHROPIC_BASE_URL: elsewhere.url,
    ...Object.fromEntries(proxies.map((name) => [name, proxy.url])),
    ...(throughGw ? {} : { NO_PROXY: '127.0.0.1' }),
    ...agent.env,
  };
  const words = [
    ...(throughGw ? [process.execPath, GW, 'run', '--budget', '5', '--'] : []),
    ...[path, ...agent.args],
  ];
  const inProject = ['-c', 'cd "$HOME/work" && exec "$0" "$@"', ...words];
  const output = await start('/bin/sh', inProject, env, home).output;
  return { output, records: await gateway.records(), elsewhere: elsewhere.seen, proxy: proxy.seen };
}

describe('gw run', () => {
  test.each(REAL_AGENTS)('$name reaches gw with each request, whatever its settings say', async (agent) => {
    const { output, records, elsewhere, proxy } = await ask(agent);
    expect(output).toContain('Hello you');
    const count = records.length === 1 ? '1 request' : `${records.length} requests`;
    expect(output).toMatch(new RegExp(`default/run@run_\\w+: \\$[\\d.]+ spent of \\$5\\.00, ${count}, `));
    expect(records.length).toBeGreaterThan(0);
    for (const { endpoint, outcome } of records) expect([endpoint, outcome]).toEqual([agent.endpoint, 'ok']);
    expect(elsewhere).toEqual([]);
    expect(proxy.filter((request) => /api\.(openai|anthropic)\.com/.test(request))).toEqual([]);
  });
});

test.each(REAL_AGENTS.filter(({ name }) => ['codex', 'pi'].includes(name)))(
  'without gw run, the settings of $name lead elsewhere',
  async (agent) => {
    const { records, elsewhere } = await ask(agent, { throughGw: false });
    expect(records).toEqual([]);
    expect(elsewhere.length).toBeGreaterThan(0);
  },
);
