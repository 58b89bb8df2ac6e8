import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { start } from '../agents-real/programs.ts';
import { GW, gatewayOfBoth, IN_PROJECT } from '../agents-real/stage.ts';
import { startWayOut } from '../agents-real/way-out.ts';
import type { TestBudget } from '../support/home.ts';
import { installPython } from '../support/install-python.ts';
import { PYTHON_CLIENTS, type PythonClient } from './clients.ts';
import { reportingProvider, SAID } from './reporting-provider.ts';

const PROGRAMS = join(import.meta.dirname, 'programs');

/** How a program is pointed at gw, as words before its own. */
const WAYS = {
  'gw env': [
    '/bin/sh',
    '-c',
    `eval "$('${process.execPath}' '${GW}' env ${IN_PROJECT.join(' ')})" && exec "$0" "$@"`,
  ],
  'gw run': [process.execPath, GW, 'run', ...IN_PROJECT, '--'],
} as const;

/** Runs a client in a shell with keys that look real, and a proxy to all the rest. */
async function run(client: PythonClient, way: keyof typeof WAYS, budget?: TestBudget) {
  const bin = await installPython(client.packages);
  const gateway = await gatewayOfBoth();
  if (budget) await gateway.setBudget(budget);
  const { script, reported } = reportingProvider();
  gateway.upstream.script(script);
  const proxy = await startWayOut();
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
  const env: Record<string, string> = {
    GW_HOME: gateway.paths.home,
    GW_PORT: String(gateway.daemon.port),
    OPENAI_API_KEY: `sk-proj-${'a1B2'.repeat(16)}`,
    ANTHROPIC_API_KEY: `sk-ant-api03-${'c3D4'.repeat(20)}`,
    PYTHONWARNINGS: 'ignore',
    // LiteLLM's prices come from GitHub, which it asks three times.
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    // mini-swe-agent: its ten tries take minutes.
    MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT: '2',
    ...Object.fromEntries(proxies.map((name) => [name, proxy.url])),
  };
  const { program } = client;
  const [command = '', ...args] = typeof program === 'string' ? ['python', join(PROGRAMS, program)] : program;
  const [first, ...rest] = [...WAYS[way], join(bin, command), ...args];
  const output = await start(first, rest, env).output;
  return { output, gateway, reported, proxy: proxy.seen };
}

describe.each(PYTHON_CLIENTS.map((client) => [client.name, client] as const))('%s', (_, client) => {
  test.each(Object.keys(WAYS) as (keyof typeof WAYS)[])(
    'works under %s, and each booking is what the provider reported',
    async (way) => {
      const { output, gateway, reported, proxy } = await run(client, way);
      expect(output.split(SAID).length - 1, output).toBe(client.answers);
      const all = await gateway.settled(client.answers);
      // crewai asks for a count first, which is free.
      const records = all.filter(({ endpoint }) => endpoint !== 'messages/count_tokens');
      expect(
        records.map(({ outcome, flags }) => [outcome, flags.filter((flag) => flag !== 'stream')]),
      ).toEqual(records.map(() => ['ok', []]));
      expect(
        records.map(({ model, inputTokens, outputTokens }) => ({ model, inputTokens, outputTokens })),
      ).toEqual(reported);
      for (const { costNanoUsd } of records) expect(costNanoUsd).toBeGreaterThan(0);
      expect(
        proxy.filter((request) => /api\.(openai|anthropic)\.com|127\.0\.0\.1|localhost/.test(request)),
      ).toEqual([]);
    },
  );

  test('is refused by a spent budget at no cost', async () => {
    const { output, gateway, reported } = await run(client, 'gw run', { capUsd: 0, period: 'daily' });
    expect(output).not.toContain(SAID);
    expect(output).toMatch(/budget_exceeded|gw budget set/);
    if (/^(openai|anthropic) /.test(client.name)) expect(output).toContain('refused 402 budget_exceeded');
    expect(reported).toEqual([]);
    const records = await gateway.records();
    expect(records.map(({ outcome, costNanoUsd }) => [outcome, costNanoUsd])).toEqual(
      records.map(() => ['blocked', 0]),
    );
    // Frameworks that try again.
    console.log(`${client.name}: ${records.length} refused requests`);
  });
});
