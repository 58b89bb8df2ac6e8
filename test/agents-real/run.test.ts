import { describe, expect, test } from 'vitest';
import { REAL_AGENTS, type RealAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

/** Asks an agent a question, through `gw run` or not. */
async function ask(agent: RealAgent, { throughGw = true, times = 1 } = {}) {
  const { path, gateway, elsewhere, proxy, home, env } = await stageFor(agent);
  const words = [
    ...(throughGw ? [process.execPath, GW, 'run', ...IN_PROJECT, '--budget', '5', '--'] : []),
    ...[path, ...agent.args],
  ];
  const inProject = ['-c', 'cd "$HOME/work" && exec "$0" "$@"', ...words];
  const variables = throughGw ? env : { ...env, NO_PROXY: '127.0.0.1' };
  let output = '';
  for (let i = 0; i < times; i++) output = await start('/bin/sh', inProject, variables, home).output;
  return { output, records: await gateway.records(), elsewhere: elsewhere.seen, proxy: proxy.seen };
}

describe('gw run', () => {
  test.each(REAL_AGENTS)('$name reaches gw with each request, whatever its settings say', async (agent) => {
    const { output, records, elsewhere, proxy } = await ask(agent);
    expect(output).toContain('Hello you');
    const count = records.length === 1 ? '1 request' : `${records.length} requests`;
    expect(output).toMatch(new RegExp(`web/run@run_\\w+: \\$[\\d.]+ spent of \\$5\\.00, ${count}, `));
    expect(records.length).toBeGreaterThan(0);
    for (const { endpoint, outcome } of records) expect([endpoint, outcome]).toEqual([agent.endpoint, 'ok']);
    expect(elsewhere).toEqual([]);
    expect(
      proxy.filter((request) => /api\.(openai|anthropic)\.com|generativelanguage/.test(request)),
    ).toEqual([]);
  });

  // pi's prompt is too small to be compared, Codex's is counted exactly, and Gemini CLI's has the folder of its run in it.
  test.each(REAL_AGENTS.filter(({ name }) => !['pi', 'codex', 'gemini'].includes(name)))(
    '$name is held at what an earlier prompt was counted at',
    async (agent) => {
      const { records } = await ask(agent, { times: 2 });
      const needs = records.map(({ detail }) => detail.need as { input_bound: string; input_tokens: number });
      expect(needs.map((need) => need.input_bound)).toContain('edit');
      // All of its requests is of known shapes: anything else would count as the model's whole context.
      expect(Math.max(...needs.map((need) => need.input_tokens))).toBeLessThan(190_000);
    },
  );
});

test.each(REAL_AGENTS.filter(({ name }) => ['codex', 'pi'].includes(name)))(
  'without gw run, the settings of $name lead elsewhere',
  async (agent) => {
    const { records, elsewhere } = await ask(agent, { throughGw: false });
    expect(records).toEqual([]);
    expect(elsewhere.length).toBeGreaterThan(0);
  },
);
