import { describe, expect, test } from 'vitest';
import { pointClaude } from '../../../src/agents/connect/claude.ts';
import { FOLDER, KEY, ORIGIN, startOf } from './start-of.ts';

const FILE = 'claude-settings.json';
const ENV = {
  ANTHROPIC_BASE_URL: ORIGIN,
  ANTHROPIC_AUTH_TOKEN: KEY,
  ANTHROPIC_API_KEY: '',
  ANTHROPIC_UNIX_SOCKET: '',
  NO_PROXY: 'localhost,127.0.0.1,::1',
  no_proxy: 'localhost,127.0.0.1,::1',
};

function written(start: Parameters<typeof startOf>[0]): unknown {
  return JSON.parse(pointClaude(startOf(start)).files?.[FILE] ?? '');
}

describe('Claude Code', () => {
  test('gets a settings file of this run, which keeps the key out of the arguments', () => {
    const pointing = pointClaude(startOf({ args: ['-p', 'hi'] }));
    expect(pointing.args).toEqual(['--settings', `${FOLDER}/${FILE}`, '-p', 'hi']);
    expect(pointing.env).toEqual(ENV);
    expect(written({})).toEqual({ env: ENV });
  });

  test("merges the user's own --settings, as JSON or as a file", () => {
    const own = { model: 'opus', env: { FOO: '1', ANTHROPIC_BASE_URL: 'https://x' } };
    const merged = { model: 'opus', env: { FOO: '1', ...ENV } };
    const args = ['--settings', JSON.stringify(own), 'hi'];
    expect(pointClaude(startOf({ args })).args).toEqual(['--settings', `${FOLDER}/${FILE}`, 'hi']);
    expect(written({ args })).toEqual(merged);
    expect(written({ args: ['--settings=mine.json'], files: { '/work/mine.json': own } })).toEqual(merged);
  });

  describe('has its tool search', () => {
    const search = (start: Parameters<typeof startOf>[0]) =>
      pointClaude(startOf({ ownApis: { anthropic: true, openai: false }, ...start })).env.ENABLE_TOOL_SEARCH;

    test.each([
      [],
      ['--model', 'opus'],
      ['--model=sonnet[1m]'],
      ['--model', 'claude-opus-5'],
      ['--model', 'anthropic/claude-opus-5'],
    ])("towards Anthropic's API: %j", (...args) => {
      expect(search({ args })).toBe('true');
      expect(search({ args, ownApis: { anthropic: false, openai: true } })).toBeUndefined();
    });

    test('not for models that lack it, wherever they are named', () => {
      expect(search({ args: ['--model', 'openai/gpt-5.2'] })).toBeUndefined();
      expect(search({ env: { ANTHROPIC_MODEL: 'kimi-k2' } })).toBeUndefined();
      expect(
        search({ files: { '/work/.claude/settings.json': { model: 'deepseek-chat' } } }),
      ).toBeUndefined();
      expect(search({ args: ['--settings', '{"model":"glm-5"}'] })).toBeUndefined();
      const env = { ANTHROPIC_DEFAULT_OPUS_MODEL: 'deepseek-chat' };
      expect(search({ args: ['--model', 'opus'], env })).toBeUndefined();
    });

    test("by the user's own choice, if there is one", () => {
      expect(search({ env: { ENABLE_TOOL_SEARCH: 'auto:5' } })).toBeUndefined();
      const files = { '/home/me/.claude/settings.json': { env: { ENABLE_TOOL_SEARCH: 'false' } } };
      expect(search({ files })).toBeUndefined();
    });
  });

  test.each([['--settings', 'none.json'], ['--settings', '{oops'], ['--settings=[]']])(
    'refuses %s %s, which it cannot add to',
    (...args) => {
      expect(() => pointClaude(startOf({ args }))).toThrow(/settings/);
    },
  );

  test("extends the NO_PROXY that the user's settings would set", () => {
    const files = {
      '/home/me/.claude/settings.json': { env: { NO_PROXY: 'corp' } },
      '/work/.claude/settings.local.json': { env: { ANTHROPIC_BASE_URL: 'https://elsewhere' } },
    };
    expect(written({ files, env: { NO_PROXY: 'shell' } })).toEqual({
      env: {
        ...ENV,
        NO_PROXY: 'corp,localhost,127.0.0.1,::1',
        no_proxy: 'corp,localhost,127.0.0.1,::1',
      },
    });
  });

  describe("keeps a cloud's mode", () => {
    const BEDROCK = {
      ANTHROPIC_BEDROCK_BASE_URL: ORIGIN,
      CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1',
      AWS_BEARER_TOKEN_BEDROCK: '',
    };
    const on = { CLAUDE_CODE_USE_BEDROCK: '1' };

    test.each([
      ['the shell', { env: on }],
      ['the settings', { files: { '/home/me/.claude/settings.json': { env: on } } }],
      ['managed settings', { files: { '/etc/claude-code/managed-settings.json': { env: on } } }],
    ])('that %s switches on, and points it at gw', (_, start) => {
      expect(written(start)).toEqual({ env: { ...ENV, ...BEDROCK } });
      const { bypass, notes } = pointClaude(startOf(start));
      expect(bypass).toBeUndefined();
      expect(notes).toEqual(['CLAUDE_CODE_USE_BEDROCK is on: requests go to gw, and from there to Bedrock']);
    });

    test('unless managed settings address it', () => {
      const path = '/etc/claude-code/managed-settings.json';
      const env = { ...on, ANTHROPIC_BEDROCK_BASE_URL: 'https://corp' };
      const { bypass } = pointClaude(startOf({ files: { [path]: { env } } }));
      expect(bypass?.reason).toContain('ANTHROPIC_BEDROCK_BASE_URL');
    });

    test('not one that is switched off, that gw has no account for, or beside a login', () => {
      expect(written({ env: { CLAUDE_CODE_USE_VERTEX: '0' } })).toEqual({ env: ENV });
      expect(written({ env: { CLAUDE_CODE_USE_ANTHROPIC_AWS: '1' } })).toEqual({
        env: { ...ENV, CLAUDE_CODE_USE_ANTHROPIC_AWS: '0' },
      });
      expect(pointClaude(startOf({ env: on, subscription: true })).env).toMatchObject({
        CLAUDE_CODE_USE_BEDROCK: '0',
        ANTHROPIC_CUSTOM_HEADERS: `x-gw-key: ${KEY}`,
      });
    });

    test("of several clouds, with a project for Vertex AI's path", () => {
      const env = { CLAUDE_CODE_USE_VERTEX: 'true', CLAUDE_CODE_USE_FOUNDRY: '1' };
      const pointed = pointClaude(startOf({ env })).env;
      expect(pointed).toEqual({
        ...ENV,
        ANTHROPIC_VERTEX_BASE_URL: `${ORIGIN}/v1`,
        ANTHROPIC_VERTEX_PROJECT_ID: 'gw',
        CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
        ANTHROPIC_FOUNDRY_BASE_URL: `${ORIGIN}/anthropic`,
        ANTHROPIC_FOUNDRY_API_KEY: KEY,
        ANTHROPIC_FOUNDRY_RESOURCE: '',
      });
      const mine = { ...env, ANTHROPIC_VERTEX_PROJECT_ID: 'mine' };
      expect(pointClaude(startOf({ env: mine })).env.ANTHROPIC_VERTEX_PROJECT_ID).toBe('mine');
    });
  });

  test.each([
    '/etc/claude-code/managed-settings.json',
    '/etc/claude-code/managed-settings.d/10-proxy.json',
    '/home/me/.claude/remote-settings.json',
  ])('is known to go around gw with another address in %s', (path) => {
    const bypass = (env: object) => pointClaude(startOf({ files: { [path]: { env } } })).bypass;
    expect(bypass({ ANTHROPIC_BASE_URL: 'https://corp' })).toEqual({
      reason: `managed settings in ${path} set ANTHROPIC_BASE_URL and beat those of this run`,
      remedy: 'Ask who manages this machine to remove ANTHROPIC_BASE_URL from them',
    });
    expect(bypass({ ANTHROPIC_BASE_URL: ORIGIN })).toBeUndefined();
    expect(bypass({ OTHER: '1' })).toBeUndefined();
  });

  test('keeps its login with --subscription, and sends the key beside the headers of its user', () => {
    const files = {
      '/home/me/.claude/settings.json': { env: { ANTHROPIC_CUSTOM_HEADERS: 'x-gw-key: old\nx-team: a' } },
    };
    expect(written({ files, subscription: true })).toEqual({
      env: {
        ...ENV,
        ANTHROPIC_AUTH_TOKEN: '',
        ANTHROPIC_CUSTOM_HEADERS: `x-team: a\nx-gw-key: ${KEY}`,
      },
    });
  });
});
