import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { HOSTS, type Host } from '../bridge/hosts.ts';
import { strictProvider, TURNS } from '../bridge/providers/strict.ts';
import type { TestGateway } from '../support/gateway.ts';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

/** An agent that loops through tools. */
interface Looping {
  name: string;
  /** The providers that have the API it speaks, or whose answers its library can't read. */
  own: readonly string[];
  args(model: string): string[];
  /** Files of its folder. */
  files?(gateway: TestGateway, model: string): Record<string, unknown>;
}

const AGENTS: readonly Looping[] = [
  { name: 'claude', own: ['anthropic'], args: (model) => ['-p', '--model', model, 'Go'] },
  {
    name: 'opencode',
    own: HOSTS.filter(({ breaksChatLibrary }) => breaksChatLibrary).map(({ name }) => name),
    args: (model) => ['run', '-m', `gw/${model}`, 'Go'],
    files: ({ url, key }, model) => ({
      'opencode.json': {
        provider: {
          gw: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: url, apiKey: key },
            models: { [model]: {} },
          },
        },
      },
    }),
  },
  {
    name: 'codex',
    own: ['openai', 'xai'],
    args: (model) => ['exec', '--ephemeral', '--skip-git-repo-check', '-s', 'read-only', '-m', model, 'Go'],
  },
];

const PRICE = { inputPicoUsd: 1_000, outputPicoUsd: 1_000 };

describe.each(AGENTS)('$name', ({ name: agent, own, args, files }) => {
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
      const model = `${host.name}/${host.model}`;
      for (const [file, content] of Object.entries(files?.(gateway, model) ?? {}))
        writeFileSync(join(home, 'work', file), JSON.stringify(content));
      const words = ['run', ...IN_PROJECT, '--', path, ...args(model)];
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
