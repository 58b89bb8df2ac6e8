import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { CoverageReport } from '../../src/insight/coverage/report.ts';
import { REAL_AGENTS } from './agents.ts';
import { numbered } from './numbered.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

/** Settings that lead around gw, by path. */
const AROUND: Record<string, (url: string) => Record<string, string>> = {
  codex: (url) => ({
    '.codex/config.toml': `model_provider = "mine"\n[model_providers.mine]\nname = "mine"\nbase_url = "${url}/v1"\n`,
  }),
  claude: (url) => ({
    '.claude/settings.json': JSON.stringify({
      env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-mine' },
    }),
    'work/.claude/settings.json': '{}',
  }),
  opencode: (url) => ({
    'work/opencode.json': JSON.stringify({
      provider: { openai: { options: { baseURL: `${url}/v1`, apiKey: 'sk-mine' } } },
    }),
  }),
  kilo: (url) => ({
    'work/kilo.json': JSON.stringify({
      provider: { openai: { options: { baseURL: `${url}/v1`, apiKey: 'sk-mine' } } },
    }),
  }),
  gemini: (url) => ({
    '.gemini/settings.json': JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }),
    'work/.env': `GOOGLE_GEMINI_BASE_URL=${url}\nGEMINI_API_KEY=AIza-mine\n`,
  }),
};

const READABLE = REAL_AGENTS.filter(({ name }) => name in AROUND);

test.each(READABLE)(
  'gw coverage: a $name through gw leaves no gap, and one beside it is found',
  async (agent) => {
    const { path, gateway, home, env } = await stageFor(agent);
    gateway.upstream.script(numbered());
    // With them, it writes no log.
    const args = agent.args.filter((each) => each !== '--ephemeral');
    const inProject = async (words: readonly string[], more: Record<string, string> = {}) => {
      const script = ['-c', 'cd "$HOME/work" && "$0" "$@"; echo " exit=$?"', ...words];
      return start('/bin/sh', script, { ...env, ...more }, home).output;
    };
    const coverage = async (): Promise<CoverageReport & { exit: string }> => {
      const output = await inProject([process.execPath, GW, 'coverage', agent.name, '--json']);
      const end = output.lastIndexOf('}') + 1;
      return { ...(JSON.parse(output.slice(0, end)) as CoverageReport), exit: output.slice(end).trim() };
    };

    const output = await inProject([
      process.execPath,
      GW,
      'run',
      ...IN_PROJECT,
      '--budget',
      '5',
      '--',
      path,
      ...args,
    ]);
    expect(output).toContain('Hello you');
    expect(output).not.toContain('did not come through gw');
    const through = await coverage();
    expect(through).toMatchObject({ exit: 'exit=0', total: { sessions: 1, bypassed_requests: 0 } });
    expect(through.total.covered_requests).toBeGreaterThan(0);

    for (const [name, content] of Object.entries(
      AROUND[agent.name]?.(gateway.upstream.url.replace(/\/v1$/, '')) ?? {},
    )) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), content);
    }
    const direct = { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' };
    expect(await inProject([path, ...args], direct)).toContain('Hello you');
    const around = await coverage();
    expect(around).toMatchObject({
      exit: 'exit=1',
      total: { sessions: 2, covered_requests: through.total.covered_requests },
    });
    expect(around.total.bypassed_requests).toBeGreaterThan(0);
    expect(around.total.bypassed_usd).toBeGreaterThan(0);
  },
);

test('gw coverage knows the requests of Claude Code that were translated for another provider', async () => {
  const claude = READABLE.find(({ name }) => name === 'claude');
  if (!claude) throw new Error('no Claude Code');
  const { path, home, env } = await stageFor(claude);
  const gw = async (...words: string[]) => start(process.execPath, [GW, ...words], env, home).output;
  expect(await gw('run', ...IN_PROJECT, '--', path, '-p', '--model', 'openai/gpt-4.1', 'hi')).toContain(
    'Hello you',
  );
  const { total } = JSON.parse(await gw('coverage', 'claude', '--json')) as CoverageReport;
  expect(total).toMatchObject({ sessions: 1, bypassed_requests: 0 });
  expect(total.covered_requests).toBeGreaterThan(0);
});
