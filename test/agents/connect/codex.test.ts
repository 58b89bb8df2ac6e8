import { expect, test } from 'vitest';
import { pointCodex } from '../../../src/agents/connect/codex.ts';
import { KEY, ORIGIN, startOf } from './start-of.ts';

const own = (name: string) => [
  ...['-c', 'model_provider=gw', '-c', `model_providers.gw.name="${name}"`],
  ...['-c', `model_providers.gw.base_url="${ORIGIN}/v1"`, '-c', 'model_providers.gw.env_key=GW_RUN_KEY'],
];
const OWN = own('gw');

test('Codex gets a provider of its own on the command line, and the key in a variable', () => {
  expect(pointCodex(startOf({ args: ['exec', '-m', 'gpt-5.2', 'fix it'] }))).toEqual({
    args: [...OWN, 'exec', '-m', 'gpt-5.2', 'fix it'],
    env: { GW_RUN_KEY: KEY },
    notes: [],
  });
});

test("Codex compacts at the provider where OpenAI's models are at its own API", () => {
  const nameOf = (args: string[], { openai = true, files = {} } = {}) =>
    pointCodex(startOf({ args, files, ownApis: { anthropic: true, openai } })).args[3];
  const config = (text: string) => ({ files: { '/home/me/.codex/config.toml': text } });
  const [openai, gw] = ['OpenAI', 'gw'].map((name) => own(name)[3]);
  for (const args of [[], ['-m', 'gpt-5.2'], ['--model=o4-mini'], ['-c', 'model="openai/gpt-5.2-codex"']])
    expect(nameOf(args)).toBe(openai);
  for (const args of [
    ['-m', 'deepseek-chat'],
    ['-c', 'model=kimi-k2'],
    ['-m', 'gpt-oss-120b'],
  ])
    expect(nameOf(args)).toBe(gw);
  expect(nameOf([], { openai: false })).toBe(gw);
  expect(nameOf([], config('[profiles.x]\nmodel = "glm-5"\n'))).toBe(gw);
  expect(nameOf(['-m', 'gpt-5.2'], config('model = "glm-5"\n'))).toBe(openai);
});

test("the user's own flags for another address are left out and named, the others stay", () => {
  const args = [
    'exec',
    '-c',
    'model_provider=azure',
    '--config=openai_base_url="https://x"',
    '-c',
    'model=o4',
    'hi',
  ];
  expect(pointCodex(startOf({ args }))).toMatchObject({
    args: [...OWN, 'exec', '-c', 'model=o4', 'hi'],
    notes: [
      'left out -c model_provider=azure: requests would not reach gw',
      'left out -c openai_base_url="https://x": requests would not reach gw',
    ],
  });
  expect(pointCodex(startOf({ args: ['exec', '--', '-c', 'model_provider=x'] })).args).toEqual([
    ...OWN,
    ...['exec', '--', '-c', 'model_provider=x'],
  ]);
});

test("the user's and the project's config.toml don't matter; managed settings of the provider do", () => {
  const toml = 'model_provider = "azure"\n[model_providers.azure]\nbase_url = "https://x"\n';
  const files = { '/home/me/.codex/config.toml': toml, '/work/.codex/config.toml': toml };
  expect(pointCodex(startOf({ files })).bypass).toBeUndefined();
  const managed = pointCodex(startOf({ files: { '/etc/codex/managed_config.toml': toml } }));
  expect(managed.bypass?.reason).toBe(
    "/etc/codex/managed_config.toml sets Codex's provider and beats the command line",
  );
  const harmless = { '/etc/codex/managed_config.toml': 'approval_policy = "on-request"\n' };
  expect(pointCodex(startOf({ files: harmless })).bypass).toBeUndefined();
});

test('local models and cloud tasks would go around gw', () => {
  expect(pointCodex(startOf({ args: ['exec', '--oss', 'hi'] })).bypass?.remedy).toBe('Leave out --oss');
  expect(pointCodex(startOf({ args: ['cloud', 'exec'] })).bypass?.remedy).toBe('Use: codex exec');
});

test('with --subscription Codex keeps its login, and the key goes out in a header', () => {
  const { args, env } = pointCodex(startOf({ args: ['exec', 'hi'], subscription: true }));
  expect(args).toEqual([
    ...['-c', 'model_provider=gw-login', '-c', 'model_providers.gw-login.name=gw'],
    ...['-c', `model_providers.gw-login.base_url="${ORIGIN}/v1"`],
    ...['-c', 'model_providers.gw-login.requires_openai_auth=true'],
    ...['-c', 'model_providers.gw-login.env_http_headers={ "x-gw-key" = "GW_RUN_KEY" }'],
    ...['exec', 'hi'],
  ]);
  expect(env).toEqual({ GW_RUN_KEY: KEY });
});
