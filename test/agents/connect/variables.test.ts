import { describe, expect, test } from 'vitest';
import { pointGemini } from '../../../src/agents/connect/gemini.ts';
import { pointGoose } from '../../../src/agents/connect/goose.ts';
import { pointPi } from '../../../src/agents/connect/pi.ts';
import { pointQwen } from '../../../src/agents/connect/qwen.ts';
import { pointCopilot, pointCrush, pointOpenHands } from '../../../src/agents/connect/run-only.ts';
import { foreignKeys, withLoopback } from '../../../src/agents/run/environment.ts';
import { PRESETS } from '../../../src/providers/presets.ts';
import { FOLDER, KEY, ORIGIN, startOf } from './start-of.ts';

describe('Copilot CLI', () => {
  const env = {
    COPILOT_PROVIDER_BASE_URL: 'https://x',
    COPILOT_PROVIDER_BEARER_TOKEN: 'tok',
    COPILOT_PROVIDER_API_KEY_COMMAND: 'cat key',
  };

  test("gets gw as the user's own provider, and no other key", () => {
    expect(pointCopilot(startOf({ args: ['--model', 'gpt-5.2'], env }))).toEqual({
      args: ['--model', 'gpt-5.2'],
      env: {
        COPILOT_PROVIDER_BASE_URL: `${ORIGIN}/v1`,
        COPILOT_PROVIDER_TYPE: 'openai',
        COPILOT_PROVIDER_API_KEY: KEY,
        COPILOT_PROVIDER_BEARER_TOKEN: undefined,
        COPILOT_PROVIDER_API_KEY_COMMAND: undefined,
        COPILOT_PROVIDER_TRANSPORT: 'http',
        COPILOT_PROVIDER_WIRE_API: 'responses',
        COPILOT_OFFLINE: 'true',
      },
    });
  });

  test('speaks messages for Claude models, and needs a model', () => {
    const claude = pointCopilot(startOf({ env: { COPILOT_MODEL: 'claude-sonnet-4-5' } }));
    expect(claude.env).toMatchObject({
      COPILOT_PROVIDER_TYPE: 'anthropic',
      COPILOT_PROVIDER_BASE_URL: ORIGIN,
    });
    expect(() => pointCopilot(startOf())).toThrow('Add: --model MODEL');
  });
});

describe('Qwen Code', () => {
  test("gets system settings of this run, which beat the models of the user's and the project's", () => {
    const models = [{ id: 'gpt-4.1', name: 'mine', baseUrl: 'https://x', envKey: 'MY_KEY' }];
    const pointing = pointQwen(
      startOf({
        env: { HTTPS_PROXY: 'http://corp:3128', HTTP_PROXY: '' },
        files: {
          '/home/me/.qwen/settings.json': { modelProviders: { openai: [], gemini: [{ id: 'x' }] } },
          '/work/.qwen/settings.json': { modelProviders: { openai: models, gemini: [{ id: 'g' }] } },
          '/etc/qwen-code/settings.json': { telemetry: { enabled: false }, proxy: 'http://corp:3128' },
        },
      }),
    );
    expect(pointing.env).toEqual({
      QWEN_CODE_SYSTEM_SETTINGS_PATH: `${FOLDER}/qwen-settings.json`,
      GW_RUN_KEY: KEY,
      HTTPS_PROXY: undefined,
    });
    expect(JSON.parse(pointing.files?.['qwen-settings.json'] ?? '')).toEqual({
      telemetry: { enabled: false },
      proxy: '',
      modelProviders: {
        openai: [{ id: 'gpt-4.1', name: 'mine', baseUrl: `${ORIGIN}/v1`, envKey: 'GW_RUN_KEY' }],
      },
    });
    expect(pointing.notes).toEqual([
      'HTTPS_PROXY off in this run: Qwen Code would ask the proxy for gw, whatever NO_PROXY says',
    ]);
  });

  test('reads the variables by an auth type, the openai one unless another covered one is given', () => {
    expect(pointQwen(startOf({ args: ['-p', 'hi'] })).args).toEqual(['--auth-type', 'openai', '-p', 'hi']);
    expect(pointQwen(startOf({ args: ['-p', 'hi', '--auth-type=anthropic'] })).args).toEqual([
      '--auth-type',
      'anthropic',
      '-p',
      'hi',
    ]);
    const own = pointQwen(
      startOf({ args: ['--openai-base-url', 'https://x', '--openai-api-key', 'sk', 'hi'] }),
    );
    expect(own.args).toEqual(['--auth-type', 'openai', 'hi']);
    expect(own.notes).toEqual(["left out --openai-base-url and --openai-api-key: gw's are used"]);
    expect(pointQwen(startOf({ args: ['--auth-type', 'qwen-oauth'] })).bypass?.remedy).toBe(
      'Use: --auth-type openai',
    );
  });
});

describe('Goose', () => {
  const FILE = '/home/me/.config/goose/config.yaml';

  test('gets its hosts', () => {
    expect(
      pointGoose(
        startOf({
          args: ['session'],
          files: { [FILE]: 'active_provider: openai\nOPENAI_HOST: https://x\n' },
        }),
      ),
    ).toEqual({
      args: ['session'],
      env: { OPENAI_HOST: ORIGIN, OPENAI_BASE_PATH: 'v1/chat/completions', ANTHROPIC_HOST: ORIGIN },
    });
  });

  test.each([
    { files: { [FILE]: 'active_provider: databricks\n' } },
    { files: { [FILE]: 'GOOSE_PROVIDER: google\n' } },
    { env: { GOOSE_LEAD_PROVIDER: 'openrouter' } },
    { args: ['run', '--provider', 'ollama'] },
  ])('would go around gw: %j', (start) => {
    expect(pointGoose(startOf(start)).bypass?.remedy).toContain('GOOSE_PROVIDER=openai');
  });

  test("the variable beats the file's provider", () => {
    const start = startOf({
      env: { GOOSE_PROVIDER: 'anthropic' },
      files: { [FILE]: 'active_provider: google\nGOOSE_PROVIDER: google\n' },
    });
    expect(pointGoose(start).bypass).toBeUndefined();
  });
});

describe('Crush', () => {
  test('gets the addresses of its built-in providers', () => {
    const files = {
      '/work/crush.json': { models: { large: { provider: 'openai', model: 'gpt-5.2' } }, lsp: {} },
    };
    expect(pointCrush(startOf({ args: ['run', 'hi'], files }))).toEqual({
      args: ['run', 'hi'],
      env: { OPENAI_API_ENDPOINT: `${ORIGIN}/v1`, ANTHROPIC_API_ENDPOINT: ORIGIN },
    });
  });

  test.each([
    { '/work/crush.json': { providers: { openai: { base_url: 'https://x' } } } },
    { '/home/me/.config/crush/crush.json': { providers: { deepseek: {} } } },
    { '/work/.crush.json': { models: { small: { provider: 'gemini' } } } },
    { '/home/me/.config/crush/crushrc': 'provider add mine --base-url https://x\n' },
  ])('would go around gw: %j', (files) => {
    expect(pointCrush(startOf({ files })).bypass?.reason).toContain('beat the environment');
  });
});

describe('pi', () => {
  const AGENT = '/home/me/.pi/agent';

  test("gets a folder with the user's settings linked, gw's addresses and no login", () => {
    const files = {
      [`${AGENT}/settings.json`]: { defaultProvider: 'anthropic' },
      [`${AGENT}/sessions/a.jsonl`]: '',
      [`${AGENT}/auth.json`]: { anthropic: { type: 'oauth' } },
      [`${AGENT}/models.json`]: {
        providers: { openai: { baseUrl: 'https://x', headers: { a: 'b' } }, mine: {} },
      },
    };
    const pointing = pointPi(startOf({ args: ['--api-key', 'sk', '-p', 'hi'], files }));
    expect(pointing).toMatchObject({
      args: ['-p', 'hi'],
      env: { PI_CODING_AGENT_DIR: `${FOLDER}/pi`, GW_RUN_KEY: KEY },
      links: { 'pi/settings.json': `${AGENT}/settings.json`, 'pi/sessions': `${AGENT}/sessions` },
      notes: ["left out --api-key: gw's own key is used"],
    });
    expect(pointing.bypass).toBeUndefined();
    expect(JSON.parse(pointing.files?.['pi/models.json'] ?? '')).toEqual({
      providers: {
        openai: { headers: { a: 'b' }, baseUrl: `${ORIGIN}/v1`, apiKey: 'GW_RUN_KEY' },
        anthropic: { baseUrl: ORIGIN, apiKey: 'GW_RUN_KEY' },
      },
    });
  });

  test.each([
    { args: ['--provider', 'google'] },
    { args: ['--model', 'github-copilot/gpt-4o'] },
    { files: { [`${AGENT}/settings.json`]: { defaultProvider: 'openai-codex' } } },
  ])('would go around gw: %j', (start) => {
    expect(pointPi(startOf(start)).bypass?.remedy).toContain('--provider openai');
  });
});

describe('OpenHands', () => {
  test('gets an address by its model, and the flag that makes it read variables', () => {
    const openai = pointOpenHands(
      startOf({ env: { LLM_MODEL: 'openai/gpt-5.2', LLM_BASE_URL: 'https://x' } }),
    );
    expect(openai).toEqual({
      args: ['--override-with-envs'],
      env: { LLM_MODEL: 'openai/gpt-5.2', LLM_API_KEY: KEY, LLM_BASE_URL: `${ORIGIN}/v1` },
    });
    const files = { '/home/me/.openhands/agent_settings.json': { llm: { model: 'anthropic/claude-x' } } };
    expect(pointOpenHands(startOf({ files, args: ['--override-with-envs'] }))).toMatchObject({
      args: ['--override-with-envs'],
      env: { LLM_MODEL: 'anthropic/claude-x', LLM_BASE_URL: ORIGIN },
    });
    expect(pointOpenHands(startOf({ env: { LLM_MODEL: 'gemini/gemini-3-pro' } })).bypass).toBeDefined();
    expect(() => pointOpenHands(startOf())).toThrow('Set LLM_MODEL');
  });
});

describe('Gemini CLI', () => {
  const OWN = { ui: { theme: 'Default' }, security: { auth: { selectedType: 'oauth-personal' }, x: 1 } };

  test("gets gw's address and key, and the user's folder without its login", () => {
    const pointing = pointGemini(
      startOf({
        args: ['-p', 'hi'],
        // The settings beat the variable.
        env: { GEMINI_API_KEY: 'AIza', GOOGLE_API_KEY: 'AIza', GOOGLE_GENAI_USE_VERTEXAI: 'true' },
        files: {
          '/home/me/.gemini/settings.json': OWN,
          '/home/me/.gemini/.env': 'GEMINI_API_KEY=AIza',
          '/home/me/.gemini/GEMINI.md': 'Be brief',
        },
      }),
    );
    expect(pointing).toEqual({
      args: ['-p', 'hi'],
      env: {
        GOOGLE_GEMINI_BASE_URL: ORIGIN,
        GEMINI_API_KEY: KEY,
        GOOGLE_GENAI_API_VERSION: 'v1beta',
        GEMINI_CLI_HOME: `${FOLDER}/gemini`,
        GEMINI_API_KEY_AUTH_MECHANISM: 'x-goog-api-key',
        GOOGLE_GENAI_USE_GCA: 'false',
        GOOGLE_GENAI_USE_VERTEXAI: 'false',
        GOOGLE_API_KEY: undefined,
      },
      files: {
        'gemini/.gemini/settings.json': JSON.stringify({
          ...OWN,
          security: { auth: { selectedType: 'gemini-api-key' }, x: 1 },
        }),
      },
      links: {
        'gemini/.gemini/GEMINI.md': '/home/me/.gemini/GEMINI.md',
        'gemini/.gemini/tmp': '/home/me/.gemini/tmp',
      },
      sessions: '/home/me/.gemini/tmp',
    });
  });

  test.each([
    ['/etc/gemini-cli/settings.json', { enforcedType: 'oauth-personal' }],
    ['/work/.gemini/settings.json', { selectedType: 'oauth-personal' }],
  ])('would go around gw where %s says so', (path, auth) => {
    const start = startOf({ files: { [path]: { security: { auth } } } });
    expect(pointGemini(start).bypass?.reason).toContain(path);
  });

  const VERTEX = JSON.stringify({ security: { auth: { selectedType: 'vertex-ai' } } });
  const BY_VARIABLE = { GOOGLE_GENAI_USE_VERTEXAI: 'true' };

  test.each([
    ["the user's settings", {}, { '/home/me/.gemini/settings.json': VERTEX }],
    ["the project's settings", {}, { '/work/.gemini/settings.json': VERTEX }],
    ['the shell', BY_VARIABLE, {}],
    ['a file of variables', {}, { '/home/me/.gemini/.env': 'A=1\nGOOGLE_GENAI_USE_VERTEXAI="true"\n' }],
  ])('keeps the mode of Vertex AI that %s switch on', (_, env, files) => {
    const mine = { GOOGLE_API_KEY: 'AIza', GOOGLE_VERTEX_BASE_URL: 'https://elsewhere' };
    const pointing = pointGemini(startOf({ env: { ...mine, ...env }, files }));
    expect(pointing.bypass).toBeUndefined();
    expect(pointing.env).toMatchObject({
      GOOGLE_VERTEX_BASE_URL: ORIGIN,
      GOOGLE_API_KEY: KEY,
      GOOGLE_GENAI_API_VERSION: 'v1beta1',
      GOOGLE_GENAI_USE_VERTEXAI: 'true',
    });
    expect(pointing.files?.['gemini/.gemini/settings.json']).toBe(VERTEX);
  });
});

test("NO_PROXY keeps the user's hosts and gains this machine once", () => {
  expect(withLoopback()).toBe('localhost,127.0.0.1,::1');
  expect(withLoopback('corp, 127.0.0.1,')).toBe('corp,127.0.0.1,localhost,::1');
});

test('the keys that go around gw are those of every provider but OpenAI and Anthropic', () => {
  const own = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY'];
  const others = Object.values(PRESETS).flatMap(({ keyEnv }) => keyEnv.filter((name) => !own.includes(name)));
  expect(others.length).toBeGreaterThan(10);
  const env = Object.fromEntries([...others, ...own].map((name) => [name, 'x']));
  expect(foreignKeys(env).sort()).toEqual([...new Set(others)].sort());
  expect(foreignKeys({ GEMINI_API_KEY: '' })).toEqual([]);
});
