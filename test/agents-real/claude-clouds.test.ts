import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import type { ProviderSettings } from '../../src/config/settings.ts';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

interface Mode {
  provider: string;
  /** An account whose origin is the upstream's. */
  account: ProviderSettings;
  /** The user's variables, which lead elsewhere. */
  variables(elsewhere: string): Record<string, string>;
  model: string;
  path: RegExp;
}

const MODES: Mode[] = [
  {
    provider: 'bedrock',
    account: { region: 'us-east-1' },
    variables: (elsewhere) => ({
      CLAUDE_CODE_USE_BEDROCK: '1',
      ANTHROPIC_BEDROCK_BASE_URL: elsewhere,
      AWS_BEARER_TOKEN_BEDROCK: 'mine',
      AWS_REGION: 'eu-west-1',
    }),
    model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    path: /^\/anthropic\/v1\/messages/,
  },
  {
    provider: 'bedrock',
    account: { region: 'us-east-1', surface: 'mantle' },
    variables: (elsewhere) => ({
      CLAUDE_CODE_USE_MANTLE: '1',
      ANTHROPIC_BEDROCK_MANTLE_BASE_URL: elsewhere,
      AWS_BEARER_TOKEN_BEDROCK: 'mine',
    }),
    model: 'anthropic.claude-opus-4-8',
    path: /^\/anthropic\/v1\/messages/,
  },
  {
    provider: 'vertex',
    account: { project: 'ours' },
    variables: (elsewhere) => ({
      CLAUDE_CODE_USE_VERTEX: 'true',
      ANTHROPIC_VERTEX_BASE_URL: `${elsewhere}/v1`,
      CLOUD_ML_REGION: 'europe-west1',
    }),
    model: 'claude-sonnet-4-5@20250929',
    path: /^\/v1\/projects\/ours\/locations\/global\/.*:streamRawPredict$/,
  },
  {
    provider: 'azure',
    account: { resource: 'ours', deployments: { work: 'claude-opus-4-8' } },
    variables: () => ({
      CLAUDE_CODE_USE_FOUNDRY: '1',
      ANTHROPIC_FOUNDRY_RESOURCE: 'mine',
      ANTHROPIC_FOUNDRY_API_KEY: 'mine',
    }),
    model: 'work',
    path: /^\/anthropic\/v1\/messages/,
  },
];

/** Claude Code in a cloud mode that its user's settings, or the shell, switch on. */
async function stageOf({ provider, account, variables }: Mode, source: 'shell' | 'project' | 'user') {
  const claude = realAgent('claude');
  const stage = await stageFor({
    ...claude,
    files: (elsewhere) =>
      source === 'shell'
        ? {}
        : { [`${source === 'user' ? '' : 'work/'}.claude/settings.json`]: { env: variables(elsewhere) } },
  });
  const { url } = stage.gateway.upstream;
  const own = provider === 'azure' ? `${url}/openai/v1` : new URL(url).origin;
  stage.gateway.configure({
    providers: { anthropic: { baseUrl: url }, [provider]: { ...account, baseUrl: own } },
  });
  const shell = source === 'shell' ? variables(stage.elsewhere.url) : {};
  return { ...stage, env: { ...stage.env, ...shell }, args: ['-p', 'hi', '--model'] };
}

test.each(
  MODES.flatMap((mode) => (['shell', 'project', 'user'] as const).map((from) => ({ ...mode, from }))),
)(
  "gw run keeps Claude Code's mode for $model, set in the $from, and its requests reach the account",
  async ({ from, ...mode }) => {
    const { path, gateway, elsewhere, proxy, home, env, args } = await stageOf(mode, from);
    const words = [process.execPath, GW, 'run', ...IN_PROJECT, '--budget', '5', '--', path, ...args];
    const inProject = ['-c', 'cd "$HOME/work" && exec "$0" "$@"', ...words, mode.model];
    const output = await start('/bin/sh', inProject, env, home).output;
    expect(output).toContain('Hello you');
    expect(output).toContain('is on: requests go to gw');
    const records = await gateway.records();
    expect(records).not.toEqual([]);
    for (const { provider, model, endpoint, outcome } of records)
      expect([provider, model, endpoint, outcome]).toEqual([mode.provider, mode.model, 'messages', 'ok']);
    expect(gateway.upstream.requests.filter((request) => !mode.path.test(request.path))).toEqual([]);
    expect(elsewhere.seen).toEqual([]);
    expect(proxy.seen.filter((request) => /amazonaws|googleapis|azure|anthropic/.test(request))).toEqual([]);
  },
);

test.each(MODES)('gw connect keeps the mode for $model, and proves it', async (mode) => {
  const { path, gateway, elsewhere, proxy, home, env, args } = await stageOf(mode, 'user');
  const gw = (...words: string[]) =>
    start(process.execPath, [GW, ...words], { ...env, PATH: `${dirname(path)}:${process.env.PATH}` }, home);
  expect(await gw('connect', 'claude', '--yes').output).toContain('its request came through gw');
  const asUser = { ...env, NO_PROXY: 'localhost,127.0.0.1', no_proxy: 'localhost,127.0.0.1' };
  expect(await start(path, [...args, mode.model], asUser, home).output).toContain('Hello you');
  const records = await gateway.records();
  expect(records.filter(({ provider }) => provider === mode.provider)).not.toEqual([]);
  expect(records.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(elsewhere.seen).toEqual([]);
  expect(proxy.seen.filter((request) => /amazonaws|googleapis|azure|anthropic/.test(request))).toEqual([]);
});
