import { afterAll, describe, expect, test } from 'vitest';
import { HOSTS, type Host } from '../bridge/hosts.ts';
import { strictProvider, TURNS } from '../bridge/providers/strict.ts';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

/** Agents that loop through tools, and the providers that have the API they speak. */
const AGENTS = [
  { name: 'claude', own: ['anthropic'], args: (model: string) => ['-p', '--model', model, 'Go'] },
  {
    name: 'codex',
    own: ['openai', 'xai'],
    args: (model: string) => [
      'exec',
      '--ephemeral',
      '--skip-git-repo-check',
      '-s',
      'read-only',
      '-m',
      model,
      'Go',
    ],
  },
] as const;

const PRICE = { inputPicoUsd: 1_000, outputPicoUsd: 1_000 };

describe.each(AGENTS)('$name', ({ name: agent, own, args }) => {
  const results: string[] = [];
  afterAll(() => console.info(`${agent}: ${results.join(', ')}`));

  test.each(HOSTS.filter(({ name }) => !own.some((each) => each === name)))(
    'runs a loop of tools at $name',
    async (host: Host) => {
      const { path, gateway, home, env } = await stageFor({ ...realAgent(agent), files: () => ({}) });
      const { script, seen } = strictProvider(host.apis());
      gateway.upstream.script(script);
      const { origin } = new URL(gateway.upstream.url);
      gateway.configure({ providers: { [host.name]: { baseUrl: `${origin}/v1` } } });
      await gateway.setPrice({ provider: host.name, model: host.model, ...PRICE });
      const words = ['run', ...IN_PROJECT, '--', path, ...args(`${host.name}/${host.model}`)];
      const shell = ['-c', 'cd "$HOME/work" && exec "$0" "$@"', process.execPath, GW, ...words];
      const output = await start('/bin/sh', shell, env, home).output;
      expect({ faults: seen.faults, output }).toEqual({
        faults: [],
        output: expect.stringMatching(/All done after \d+ results/),
      });
      expect(seen.billed.length).toBeGreaterThan(TURNS);
      results.push(`${host.name} ${seen.billed.length}`);
    },
  );
});
