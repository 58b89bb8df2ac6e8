import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { AGENTS } from '../../src/agents/table.ts';
import { REAL_AGENTS } from './agents.ts';
import { start } from './programs.ts';
import { GW, stageFor } from './stage.ts';

const CONNECTED = REAL_AGENTS.filter(({ name }) =>
  AGENTS.some((agent) => agent.name === name && typeof agent.connect !== 'string'),
);
/** Of the agents that need one in their settings: the one that they are asked with. */
const MODELS: Record<string, string> = { cline: 'gpt-5.2', continue: 'gpt-4.1', qwen: 'gpt-4.1' };

test.each(CONNECTED)(
  'gw connect $name: proven, each request reaches gw, and no trace is left',
  async (agent) => {
    const { path, gateway, elsewhere, proxy, home, env } = await stageFor(agent);
    const files = Object.keys(agent.files(''));
    const bytesOf = () => files.map((name) => readFileSync(join(home, name)).toString('base64'));
    const before = bytesOf();
    const gw = (...args: string[]) =>
      start(process.execPath, [GW, ...args], { ...env, PATH: withFolderOf(path) }, home);

    const model = MODELS[agent.name];
    const words = ['connect', agent.name, '--yes', ...(model === undefined ? [] : ['--model', model])];
    expect(await gw(...words).output).toContain('its request came through gw');
    expect(await gateway.records()).not.toEqual([]);

    // As the user runs it, in a project without settings of its own, and with this machine excepted from the proxy.
    mkdirSync(join(home, 'plain'));
    const excepted: Record<string, string> = {
      ...env,
      NO_PROXY: 'localhost,127.0.0.1',
      no_proxy: 'localhost,127.0.0.1',
    };
    // Qwen Code asks the proxy for this machine all the same; gw connect says so.
    if (agent.name === 'qwen')
      for (const name of ['HTTP', 'HTTPS']) {
        excepted[`${name}_PROXY`] = '';
        excepted[`${name.toLowerCase()}_proxy`] = '';
      }
    const inProject = ['-c', 'cd "$HOME/plain" && exec "$0" "$@"', path, ...agent.args];
    expect(await start('/bin/sh', inProject, excepted, home).output).toContain('Hello you');
    for (const { endpoint, outcome } of await gateway.records())
      expect([endpoint, outcome]).toEqual([agent.endpoint, 'ok']);
    expect(elsewhere.seen).toEqual([]);
    expect(
      proxy.seen.filter((request) => /api\.(openai|anthropic)\.com|generativelanguage/.test(request)),
    ).toEqual([]);

    expect(await gw('disconnect', agent.name).output).toContain('is disconnected');
    // Cline writes the date of each run into its file.
    if (agent.name !== 'cline') expect(bytesOf()).toEqual(before);
  },
);

function withFolderOf(path: string): string {
  return `${dirname(path)}:${process.env.PATH}`;
}
