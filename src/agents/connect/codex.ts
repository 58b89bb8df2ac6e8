import { join } from 'node:path';
import { KEY_HEADER, RUN_KEY } from '../run/key.ts';
import { isReached, type Makers } from '../run/makers.ts';
import { hasFlag, optionValue, takeOption } from '../run/options.ts';
import type { Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

/** Settings that choose where requests go. */
const ADDRESS = /^\s*(model_provider|model_providers\.[^=]*(?<!\s)|openai_base_url|oss_provider)\s*=/;

/**
 * Codex: an own provider by `-c`, which beats config.toml and profiles. Its built-in provider would take a ChatGPT
 * login along, and ignores OPENAI_BASE_URL.
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
 * The name of gw's provider in Codex. By the name of OpenAI's, Codex compacts at the provider: the prompt stays as it
 * was, and most of it is read from the cache. By any other it asks for a summary without its tools, and all of the prompt
 * costs its full price once more (is_openai in codex-rs/model-provider-info).
 */
function providerName(ownApis: Makers, models: readonly string[]): string {
  return isReached(ownApis, 'openai', models) ? 'OpenAI' : 'gw';
}

/** The models that the command line names, or else config.toml, in which each may be that of a profile. */
function modelsOf({ args, files, ...start }: Start): string[] {
  const option = optionValue(args, '-m', '--model');
  if (option !== undefined) return [option];
  const { values } = takeOption(args, ['-c', '--config']);
  const text = files.read(configFile(start)) ?? '';
  return modelsIn([...values, text].join('\n'));
}

/** The user's own settings of Codex. */
const configFile = ({ env, home }: Pick<Start, 'env' | 'home'>): string =>
  join(env.CODEX_HOME || join(home, '.codex'), 'config.toml');

/** The models that are chosen in lines of config.toml. */
function modelsIn(text: string): string[] {
  return [...text.matchAll(/^[ \t]*model[ \t]*=[ \t]*["']?([^"'\s#]+)/gm)].flatMap(
    ([, model]) => model ?? [],
  );
}

/** Another id: the key that a connected `gw` provider has would beat the login. */
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
  if (start.args[0] === 'cloud' || start.args[0] === 'cloud-tasks') {
    return { reason: '`codex cloud` runs at OpenAI, not on this machine', remedy: 'Use: codex exec' };
  }
  if (hasFlag(start.args, '--oss')) {
    return { reason: '--oss sends requests to a local model server', remedy: 'Leave out --oss' };
  }
  const managed = managedConfig(start);
  const text = start.files.read(managed) ?? '';
  if (!text.split('\n').some((line) => ADDRESS.test(line) || /^\s*\[model_providers\.gw\]/.test(line))) {
    return undefined;
  }
  return {
    reason: `${managed} sets Codex's provider and beats the command line`,
    remedy: 'Ask who manages this machine to remove model_provider and openai_base_url from it',
  };
}

/** https://developers.openai.com/codex/security: a layer above `-c`. */
function managedConfig({ platform, home }: Start): string {
  return platform === 'win32'
    ? join(home, '.codex', 'managed_config.toml')
    : '/etc/codex/managed_config.toml';
}

/**
 * Codex: an own provider, as the built-in one would take a ChatGPT login along. The token is literal: the desktop app and
 * the IDE extension don't see a shell's variables. https://developers.openai.com/codex/config-reference
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
          // Beats the token and the login.
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
