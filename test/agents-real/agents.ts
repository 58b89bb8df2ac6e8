import type { Package } from './install-agent.ts';

/** A real agent, how it is asked one question, and settings of its user's that lead elsewhere. */
export interface RealAgent {
  name: string;
  package: Package;
  args: readonly string[];
  /** Files in the home directory and, under `work/`, in the project, by their paths. */
  files(elsewhere: string): Record<string, unknown>;
  env?: Readonly<Record<string, string>>;
  /** The endpoint that its requests come in at. */
  endpoint: 'chat/completions' | 'messages' | 'responses' | 'gemini';
}

/** An agent by its name. */
export function realAgent(name: string): RealAgent {
  const agent = REAL_AGENTS.find((each) => each.name === name);
  if (!agent) throw new Error(`no agent ${name}`);
  return agent;
}

const npm = (spec: string, bin: string): Package => ({ registry: 'npm', spec, bin });

/** Crush and Goose are missing: their binaries come from GitHub alone, and Goose has no package at all. */
export const REAL_AGENTS: readonly RealAgent[] = [
  {
    name: 'codex',
    package: npm('@openai/codex@0.169.0', 'codex'),
    args: ['exec', '--ephemeral', '--skip-git-repo-check', '-s', 'read-only', '-m', 'gpt-5.2', 'hi'],
    files: (elsewhere) => ({
      '.codex/config.toml': `model_provider = "mine"
openai_base_url = "${elsewhere}/v1"
[model_providers.mine]
name = "mine"
base_url = "${elsewhere}/v1"
[model_providers.gw]
name = "old"
base_url = "${elsewhere}/v1"
env_key = "OPENAI_API_KEY"
`,
      '.codex/.env': 'GW_KEY=sk-gw-old\nOPENAI_API_KEY=sk-mine\n',
    }),
    endpoint: 'responses',
  },
  {
    name: 'claude',
    package: npm('@anthropic-ai/claude-code@2.1.197', 'claude'),
    args: ['-p', '--model', 'claude-sonnet-4-5', 'hi'],
    files: (elsewhere) => ({
      '.claude/settings.json': { env: { ANTHROPIC_BASE_URL: elsewhere, CLAUDE_CODE_USE_BEDROCK: '1' } },
      'work/.claude/settings.json': { env: { ANTHROPIC_BASE_URL: elsewhere, ANTHROPIC_API_KEY: 'sk-mine' } },
    }),
    // Without it, Claude Code asks api.anthropic.com for other things than models.
    env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    endpoint: 'messages',
  },
  {
    name: 'opencode',
    package: npm('opencode-ai@1.18.33', 'opencode'),
    args: ['run', '-m', 'openai/gpt-5.2', 'hi'],
    files: (elsewhere) => ({
      '.config/opencode/opencode.json': { provider: { openai: { options: { baseURL: `${elsewhere}/v1` } } } },
      'work/opencode.json': {
        provider: { openai: { options: { baseURL: `${elsewhere}/v1`, apiKey: 'sk-mine' } } },
      },
      '.local/share/opencode/auth.json': { openai: { type: 'api', key: 'sk-mine' } },
    }),
    endpoint: 'responses',
  },
  {
    name: 'kilo',
    package: npm('@kilocode/cli@7.7.7', 'kilo'),
    args: ['run', '-m', 'openai/gpt-5.2', 'hi'],
    files: (elsewhere) => ({
      '.config/kilo/kilo.jsonc': { provider: { openai: { options: { baseURL: `${elsewhere}/v1` } } } },
      'work/kilo.json': {
        provider: { openai: { options: { baseURL: `${elsewhere}/v1`, apiKey: 'sk-mine' } } },
      },
    }),
    endpoint: 'responses',
  },
  {
    name: 'cline',
    package: npm('cline@3.0.65', 'cline'),
    args: ['-p', '-m', 'gpt-5.2', 'say hi'],
    files: (elsewhere) => ({
      '.cline/data/settings/providers.json': {
        version: 1,
        lastUsedProvider: 'openai-compatible',
        modes: {},
        providers: {
          'openai-compatible': {
            settings: {
              provider: 'openai-compatible',
              apiKey: 'sk-mine',
              model: 'm',
              baseUrl: `${elsewhere}/v1`,
            },
            updatedAt: '2026-11-22T00:00:00.000Z',
            tokenSource: 'manual',
          },
        },
      },
    }),
    endpoint: 'chat/completions',
  },
  {
    name: 'continue',
    package: npm('@continuedev/cli@1.5.47', 'cn'),
    args: ['-p', '--readonly', 'hi'],
    files: (elsewhere) => ({
      '.continue/config.yaml': `name: mine
version: 1.0.0
schema: v1
models:
  - name: a
    provider: openai
    model: gpt-4.1
    apiBase: ${elsewhere}/v1
    apiKey: sk-mine
    roles: [chat]
`,
    }),
    endpoint: 'chat/completions',
  },
  {
    name: 'qwen',
    package: npm('@qwen-code/qwen-code@0.15.10', 'qwen'),
    args: ['-p', 'hi', '--approval-mode', 'plan', '-m', 'gpt-4.1'],
    files: (elsewhere) => ({
      '.qwen/settings.json': {
        env: { OPENAI_BASE_URL: `${elsewhere}/v1`, OPENAI_API_KEY: 'sk-mine' },
        security: { auth: { selectedType: 'openai', baseUrl: `${elsewhere}/v1`, apiKey: 'sk-mine' } },
        modelProviders: {
          openai: [{ id: 'gpt-4.1', name: 'mine', baseUrl: `${elsewhere}/v1`, envKey: 'OPENAI_API_KEY' }],
        },
      },
      'work/.env': `OPENAI_BASE_URL=${elsewhere}/v1\n`,
    }),
    endpoint: 'chat/completions',
  },
  {
    name: 'gemini',
    package: npm('@google/gemini-cli@0.61.0', 'gemini'),
    args: ['-p', 'hi', '--approval-mode', 'plan', '-m', 'gemini-2.5-pro'],
    files: (elsewhere) => ({
      '.gemini/settings.json': { security: { auth: { selectedType: 'oauth-personal' } } },
      '.gemini/.env': `GOOGLE_GEMINI_BASE_URL=${elsewhere}\nGEMINI_API_KEY=AIza-mine\n`,
      'work/.gemini/settings.json': { ui: { theme: 'Default' } },
      'work/.env': `GOOGLE_GEMINI_BASE_URL=${elsewhere}\nGEMINI_API_KEY=AIza-mine\n`,
    }),
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    endpoint: 'gemini',
  },
  {
    name: 'copilot',
    package: npm('@github/copilot@1.0.102', 'copilot'),
    args: ['-p', 'hi', '--plan', '-s', '--model', 'gpt-4.1'],
    files: () => ({}),
    env: { COPILOT_PROVIDER_BEARER_TOKEN: 'tok-mine' },
    endpoint: 'chat/completions',
  },
  {
    name: 'pi',
    package: npm('@mariozechner/pi-coding-agent@0.73.1', 'pi'),
    args: ['-p', '--no-tools', '--no-session', '--provider', 'openai', '--model', 'gpt-5.2', 'hi'],
    files: (elsewhere) => ({
      '.pi/agent/models.json': { providers: { openai: { baseUrl: `${elsewhere}/v1` } } },
      '.pi/agent/auth.json': { openai: { type: 'api_key', key: 'sk-mine' } },
      '.pi/agent/settings.json': { theme: 'dark' },
    }),
    endpoint: 'responses',
  },
  {
    name: 'aider',
    package: { registry: 'pypi', spec: 'aider-chat==0.86.2', bin: 'aider' },
    args: [
      ...['--message', 'hi', '--dry-run', '--no-git', '--no-check-update', '--analytics-disable'],
      ...['--map-tokens', '0', '--yes-always', '--no-show-model-warnings', '--model', 'openai/gpt-4.1'],
    ],
    files: (elsewhere) => ({
      '.aider.conf.yml': `openai-api-base: ${elsewhere}/v1\nopenai-api-key: sk-mine\n`,
      'work/.env': `OPENAI_API_BASE=${elsewhere}/v1\nOPENAI_API_KEY=sk-mine\n`,
    }),
    endpoint: 'chat/completions',
  },
  {
    name: 'openhands',
    package: { registry: 'pypi', spec: 'openhands==1.16.0', bin: 'openhands', python: '3.12' },
    args: ['--headless', '-t', 'hi'],
    files: () => ({}),
    env: { LLM_MODEL: 'openai/gpt-4.1', LLM_BASE_URL: 'http://127.0.0.1:9/v1', LLM_API_KEY: 'sk-mine' },
    endpoint: 'chat/completions',
  },
];
