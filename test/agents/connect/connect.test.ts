import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Connecting, Endpoint } from '../../../src/agents/connect/connecting.ts';
import { FORMATS, restoreValues, writeValues } from '../../../src/agents/settings/edit.ts';
import { AGENTS } from '../../../src/agents/table.ts';

const FILES = join(import.meta.dirname, 'files');
const ENDPOINT: Endpoint = {
  env: {},
  home: '/home/me',
  platform: 'linux',
  origin: 'http://localhost:4747',
  key: 'sk-gw-key',
  subscription: false,
  ownApis: { anthropic: false, openai: false },
  model: 'gpt-5.4',
  files: { read: () => undefined, list: () => [] },
};

const connecting = (name: string, endpoint: Partial<Endpoint> = {}) => {
  const connect = AGENTS.find((agent) => agent.name === name)?.connect as Connecting;
  return connect.edits({ ...ENDPOINT, ...endpoint });
};

const EDITS = AGENTS.flatMap((agent) =>
  typeof agent.connect === 'string'
    ? []
    : agent.connect.edits(ENDPOINT).map((edit) => ({ name: `${agent.name}-${basename(edit.path)}`, edit })),
);

/** files/ has each file before, unless there was none, and after. */
test.each(EDITS)('connecting writes $name', ({ name, edit }) => {
  const path = join(FILES, `${name}.before`);
  const before = existsSync(path) ? readFileSync(path) : undefined;
  const { bytes, values } = writeValues(edit.format, before, edit.changes);
  expect(bytes.toString()).toBe(readFileSync(join(FILES, `${name}.after`), 'utf8'));
  const restored = restoreValues(edit.format, bytes, { values });
  expect(restored.left).toEqual([]);
  const { parse } = FORMATS[edit.format];
  if (before) expect(parse(restored.bytes.toString())).toEqual(parse(before.toString()));
});

test("Claude Code keeps its tool search towards Anthropic's API, and its user's own choice", () => {
  const written = (before: object, endpoint: Partial<Endpoint> = {}) => {
    const files = { read: () => JSON.stringify(before), list: () => [] };
    const [edit] = connecting('claude', {
      ownApis: { anthropic: true, openai: false },
      model: undefined,
      files,
      ...endpoint,
    });
    if (!edit) throw new Error('nothing is edited');
    const { bytes, values } = writeValues(edit.format, Buffer.from(JSON.stringify(before)), edit.changes);
    const restored = restoreValues(edit.format, bytes, { values });
    expect(JSON.parse(restored.bytes.toString())).toEqual(before);
    return JSON.parse(bytes.toString()).env.ENABLE_TOOL_SEARCH;
  };
  expect(written({ model: 'opus' })).toBe('true');
  expect(written({ env: { ENABLE_TOOL_SEARCH: 'auto:5' } })).toBe('auto:5');
  expect(written({}, { model: 'openai/gpt-5.2' })).toBeUndefined();
  expect(written({ model: 'kimi-k2' })).toBeUndefined();
  expect(written({}, { env: { ANTHROPIC_MODEL: 'deepseek-chat' } })).toBeUndefined();
  expect(written({}, { ownApis: { anthropic: false, openai: true } })).toBeUndefined();
  expect(written({}, { env: { ENABLE_TOOL_SEARCH: 'false' } })).toBeUndefined();
  expect(written({}, { env: { ANTHROPIC_DEFAULT_SONNET_MODEL: 'kimi-k2' } })).toBeUndefined();
});

test("Codex compacts at the provider where OpenAI's models are at its own API", () => {
  const nameOf = (before: string, endpoint: Partial<Endpoint> = {}) => {
    const files = { read: () => before, list: () => [] };
    const ownApis = { anthropic: false, openai: true };
    const [edit] = connecting('codex', { ownApis, model: undefined, files, ...endpoint });
    if (!edit) throw new Error('nothing is edited');
    const { bytes } = writeValues(edit.format, Buffer.from(before), edit.changes);
    return (FORMATS.toml.parse(bytes.toString()) as { model_providers: { gw: { name: string } } })
      .model_providers.gw.name;
  };
  expect(nameOf('')).toBe('OpenAI');
  expect(nameOf('model = "gpt-5.2"\n')).toBe('OpenAI');
  expect(nameOf('model = "deepseek-chat"\n')).toBe('gw');
  expect(nameOf('', { model: 'kimi-k2' })).toBe('gw');
  expect(nameOf('', { subscription: true })).toBe('gw');
  expect(nameOf('', { ownApis: { anthropic: true, openai: false } })).toBe('gw');
});

describe('an agent that needs a model takes that of its settings', () => {
  const ownModel = (name: string, files: Record<string, string>, env = {}) => {
    const connect = AGENTS.find((agent) => agent.name === name)?.connect as Connecting;
    return connect.ownModel?.({ ...ENDPOINT, env, files: { read: (path) => files[path], list: () => [] } });
  };
  const cline = (model: object) =>
    JSON.stringify({
      lastUsedProvider: 'openrouter',
      providers: { other: {}, openrouter: { settings: model } },
    });

  test.each([
    ['cline', '/home/me/.cline/data/settings/providers.json', cline({ model: 'z/glm-5' }), 'z/glm-5'],
    ['cline', '/home/me/.cline/data/settings/providers.json', cline({}), undefined],
    [
      'continue',
      '/home/me/.continue/config.yaml',
      'models:\n  - name: a\n    model: gpt-5.2\n  - model: b',
      'gpt-5.2',
    ],
    ['continue', '/home/me/.continue/config.yaml', 'models: [', undefined],
    ['qwen', '/home/me/.qwen/settings.json', '{"model":{"name":"qwen3-coder"},}', 'qwen3-coder'],
    ['goose', '/home/me/.config/goose/config.yaml', 'GOOSE_MODEL: gpt-4.1', 'gpt-4.1'],
  ])('%s in %s', (name, path, text, model) => {
    expect(ownModel(name, { [path]: text })).toBe(model);
    expect(ownModel(name, {})).toBeUndefined();
  });

  test('or of its variables', () => {
    expect(ownModel('qwen', {}, { OPENAI_MODEL: 'qwen3' })).toBe('qwen3');
    expect(ownModel('goose', {}, { GOOSE_MODEL: 'gpt-5.2' })).toBe('gpt-5.2');
  });
});

test('eleven agents connect; the others say why not', () => {
  const names = AGENTS.filter(({ connect }) => typeof connect !== 'string').map(({ name }) => name);
  expect(names.sort()).toEqual(
    [
      'aider',
      'claude',
      'cline',
      'codex',
      'continue',
      'gemini',
      'goose',
      'kilo',
      'opencode',
      'pi',
      'qwen',
    ].sort(),
  );
});

describe('an agent', () => {
  const pathsOf = (name: string, endpoint: Partial<Endpoint> = {}) =>
    connecting(name, endpoint).map(({ path }) => path);

  test('is looked for where its own variables say', () => {
    expect(pathsOf('codex', { env: { CODEX_HOME: '/c' } })).toEqual(['/c/config.toml']);
    expect(pathsOf('claude', { env: { CLAUDE_CONFIG_DIR: '/c' } })).toEqual(['/c/settings.json']);
    expect(pathsOf('opencode', { env: { XDG_CONFIG_HOME: '/x' } })).toEqual(['/x/opencode/opencode.json']);
    expect(pathsOf('pi', { env: { PI_CODING_AGENT_DIR: '/p' }, model: undefined })).toEqual([
      '/p/models.json',
    ]);
  });

  test('is written where its settings are: the last of several files wins', () => {
    const has = (names: string[]) => ({
      files: { read: (path: string) => (names.includes(basename(path)) ? '{}' : undefined), list: () => [] },
    });
    expect(pathsOf('opencode', has(['opencode.json', 'opencode.jsonc']))).toEqual([
      '/home/me/.config/opencode/opencode.jsonc',
    ]);
    expect(pathsOf('kilo', has(['config.json']))).toEqual(['/home/me/.config/kilo/config.json']);
  });

  test('keeps its own choice of model without --model', () => {
    for (const name of ['codex', 'claude', 'opencode', 'kilo', 'aider', 'pi']) {
      const steps = connecting(name, { model: undefined }).flatMap(({ changes }) =>
        changes.map(({ path }) => path.at(-1)),
      );
      expect(steps.filter((step) => /model$/i.test(String(step)))).toEqual([]);
    }
  });

  test('keeps its own login with --subscription, and has the key in a header', () => {
    const connected = (name: string, before: string) => {
      const read = () => before;
      const [edit] = connecting(name, {
        subscription: true,
        model: undefined,
        files: { read, list: () => [] },
      });
      if (!edit) throw new Error(`${name} has no edit`);
      const { bytes } = writeValues(edit.format, Buffer.from(before), edit.changes);
      return FORMATS[edit.format].parse(bytes.toString());
    };
    expect(connected('codex', '[model_providers.gw]\nexperimental_bearer_token = "old"\n')).toEqual({
      model_provider: 'gw',
      model_providers: {
        gw: {
          name: 'gw',
          base_url: 'http://localhost:4747/v1',
          wire_api: 'responses',
          requires_openai_auth: true,
          http_headers: { 'x-gw-key': 'sk-gw-key' },
        },
      },
    });
    expect(connected('claude', '{"env":{"ANTHROPIC_CUSTOM_HEADERS":"x-team: a"}}')).toEqual({
      env: {
        ANTHROPIC_CUSTOM_HEADERS: 'x-team: a\nx-gw-key: sk-gw-key',
        ANTHROPIC_BASE_URL: 'http://localhost:4747',
        ANTHROPIC_AUTH_TOKEN: '',
        ANTHROPIC_API_KEY: '',
      },
    });
  });
});
