import { join } from 'node:path';
import { KEY_HEADER, RUN_KEY } from '../run/environment.ts';
import { isReached, type Makers } from '../run/makers.ts';
import { hasFlag, optionValue, takeOption } from '../run/options.ts';
import type { Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

/** Settings that change the destination of requests. */
const ADDRESS = /^\s*(model_provider|model_providers\.[^=]*(?<!\s)|openai_base_url|oss_provider)\s*=/;

/**
 * Codex: a separate provider by `-c`, which overrides config.toml and profiles. The built-in provider would use a
 * ChatGPT login, and ignores OPENAI_BASE_URL.
 */
export function pointCodex(start: Start): Pointing {
  const { values, rest } = takeOption(start.args, ['-c', '--config'], (value) => ADDRESS.test(value));
  const bypass = bypassOf(start);
  const settings = start.subscription ? withLogin(start) : withKey(start);
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    args: [...flags, ...rest],
    env: { [RUN_KEY]: start.key },
    notes: values.map((value) => `left out -c ${value}: requests would not reach gw`),
    ...(bypass && { bypass }),
  };
}

function withKey(start: Start): Record<string, string> {
  const { origin, ownApis } = start;
  return {
    model_provider: 'gw',
    'model_providers.gw.name': `"${providerName(ownApis, modelsOf(start))}"`,
    'model_providers.gw.base_url': `"${origin}/v1"`,
    'model_providers.gw.env_key': RUN_KEY,
  };
}

/**
 * Display name of gw's provider. If it is "OpenAI", Codex compacts at the provider: the prompt stays the same and is
 * mostly read from the cache. Under any other name, Codex requests a summary without its tools, and the whole prompt
 * costs its full price again (is_openai in codex-rs/model-provider-info).
 */
function providerName(ownApis: Makers, models: readonly string[]): string {
  return isReached(ownApis, 'openai', models) ? 'OpenAI' : 'gw';
}

/** Models named in the command line, else all models in config.toml, because any of its profiles may be active. */
function modelsOf({ args, files, ...start }: Start): string[] {
  const option = optionValue(args, '-m', '--model');
  if (option !== undefined) return [option];
  const { values } = takeOption(args, ['-c', '--config']);
  const text = files.read(configFile(start)) ?? '';
  return modelsIn([...values, text].join('\n'));
}

const configFile = ({ env, home }: Pick<Start, 'env' | 'home'>): string =>
  join(env.CODEX_HOME || join(home, '.codex'), 'config.toml');

/** Models set in config.toml. */
function modelsIn(text: string): string[] {
  return [...text.matchAll(/^[ \t]*model[ \t]*=[ \t]*["']?([^"'\s#]+)/gm)].flatMap(
    ([, model]) => model ?? [],
  );
}

/** Uses another id, because the key of a connected `gw` provider would override the login. */
function withLogin({ origin }: Start): Record<string, string> {
  return {
    model_provider: 'gw-login',
    'model_providers.gw-login.name': 'gw',
    'model_providers.gw-login.base_url': `"${origin}/v1"`,
    'model_providers.gw-login.requires_openai_auth': 'true',
    'model_providers.gw-login.env_http_headers': `{ "${KEY_HEADER}" = "${RUN_KEY}" }`,
  };
}

function bypassOf(start: Start): Bypass | undefined {
  if (start.args[0] === 'cloud' || start.args[0] === 'cloud-tasks')
    return { reason: '`codex cloud` runs at OpenAI, not on this machine', remedy: 'Use: codex exec' };
  if (hasFlag(start.args, '--oss'))
    return { reason: '--oss sends requests to a local model server', remedy: 'Leave out --oss' };
  const managed = managedConfig(start);
  const text = start.files.read(managed) ?? '';
  if (!text.split('\n').some((line) => ADDRESS.test(line) || /^\s*\[model_providers\.gw\]/.test(line)))
    return undefined;
  return {
    reason: `${managed} sets Codex's provider and beats the command line`,
    remedy: 'Ask who manages this machine to remove model_provider and openai_base_url from it',
  };
}

/** Has precedence over `-c`: https://developers.openai.com/codex/security */
function managedConfig({ platform, home }: Start): string {
  return platform === 'win32'
    ? join(home, '.codex', 'managed_config.toml')
    : '/etc/codex/managed_config.toml';
}

/**
 * Codex: a separate provider, because the built-in provider would use a ChatGPT login. The token is literal: the
 * desktop app and the IDE extension don't see a shell's variables. https://developers.openai.com/codex/config-reference
 */
export const connectCodex: Connecting = {
  needsModel: false,
  edits: (endpoint) => [
    {
      path: configFile(endpoint),
      format: 'toml',
      changes: [
        ...membersOf([], { model_provider: 'gw', ...(endpoint.model && { model: endpoint.model }) }),
        ...membersOf(['model_providers', 'gw'], {
          name: endpoint.subscription ? 'gw' : providerName(endpoint.ownApis, modelsOfEndpoint(endpoint)),
          base_url: `${endpoint.origin}/v1`,
          wire_api: 'responses',
          // Would override the token and the login.
          env_key: null,
          ...(endpoint.subscription
            ? { experimental_bearer_token: null, requires_openai_auth: true }
            : { experimental_bearer_token: endpoint.key, requires_openai_auth: null }),
        }),
        ...(endpoint.subscription
          ? membersOf(['model_providers', 'gw', 'http_headers'], { [KEY_HEADER]: endpoint.key })
          : []),
      ],
    },
  ],
  proof: (model = FREE_MODEL) => ({ model }),
  notes(endpoint) {
    const text = endpoint.files.read(configFile(endpoint)) ?? '';
    const hasProfiles = /^[ \t]*(?:\[profiles\.|profile\s*=)/m.test(text);
    return [
      'codex resume lists only sessions of the provider in use: earlier ones come back with gw disconnect codex',
      ...(hasProfiles ? ['a profile in config.toml that sets model_provider goes around gw'] : []),
    ];
  },
};

function modelsOfEndpoint(endpoint: Endpoint): string[] {
  return endpoint.model ? [endpoint.model] : modelsIn(endpoint.files.read(configFile(endpoint)) ?? '');
}
