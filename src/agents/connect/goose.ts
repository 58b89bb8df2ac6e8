import { join } from 'node:path';
import { optionValue } from '../run/options.ts';
import { parseYaml, textIn } from '../run/settings-text.ts';
import type { Access, Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, configHome, membersOf } from './connecting.ts';

const COVERED = ['openai', 'anthropic'];
/** Variables and settings that select a provider for the session or a part of it. */
const CHOICES = ['GOOSE_PROVIDER', 'GOOSE_LEAD_PROVIDER', 'GOOSE_PLANNER_PROVIDER'];

/** Goose: hosts as variables, which override its config file. Keys in variables override its keyring. */
export function pointGoose(start: Start): Pointing {
  const bypass = bypassOf(start);
  return {
    args: start.args,
    env: {
      OPENAI_HOST: start.origin,
      OPENAI_BASE_PATH: 'v1/chat/completions',
      ANTHROPIC_HOST: start.origin,
    },
    ...(bypass && { bypass }),
  };
}

function bypassOf(start: Start): Bypass | undefined {
  const { args, env, files } = start;
  const file = join(configFolder(start), 'config.yaml');
  const settings = parseYaml(files.read(file));
  const chosen = [
    { source: '--provider', provider: optionValue(args, '--provider') },
    ...CHOICES.map((name) => ({ source: name, provider: env[name] || textIn(settings, name) })),
    { source: file, provider: env.GOOSE_PROVIDER ? undefined : textIn(settings, 'active_provider') },
  ].find(({ provider }) => provider !== undefined && !COVERED.includes(provider));
  if (!chosen) return undefined;
  return {
    reason: `${chosen.source} chooses Goose's provider ${chosen.provider}, which gw does not stand in front of`,
    remedy: 'Choose openai or anthropic: export GOOSE_PROVIDER=openai',
  };
}

/**
 * Goose: a custom provider with the key in a header. Keys of the built-in providers are in the system's keyring.
 * https://block.github.io/goose/docs/getting-started/providers
 */
export const connectGoose: Connecting = {
  needsModel: true,
  ownModel: (endpoint) =>
    endpoint.env.GOOSE_MODEL ||
    textIn(parseYaml(endpoint.files.read(join(configFolder(endpoint), 'config.yaml'))), 'GOOSE_MODEL'),
  edits: (endpoint) => {
    const { origin, key, model = '' } = endpoint;
    const folder = configFolder(endpoint);
    return [
      {
        path: join(folder, 'custom_providers', 'gw.json'),
        format: 'json',
        changes: membersOf([], {
          name: 'gw',
          engine: 'openai',
          display_name: 'gw',
          description: 'gw on this machine',
          api_key_env: 'GW_GOOSE_KEY',
          requires_auth: false,
          base_url: `${origin}/v1/chat/completions`,
          models: [{ name: model, context_limit: 128_000 }],
          headers: { Authorization: `Bearer ${key}` },
          supports_streaming: true,
        }),
      },
      {
        path: join(folder, 'config.yaml'),
        format: 'yaml',
        changes: [
          ...membersOf([], { GOOSE_PROVIDER: 'gw', GOOSE_MODEL: model, active_provider: 'gw' }),
          ...membersOf(['providers', 'gw'], { model }),
        ],
      },
    ];
  },
  notes: ({ env }) =>
    env.GOOSE_PROVIDER ? [`GOOSE_PROVIDER=${env.GOOSE_PROVIDER} in the environment goes around gw`] : [],
};

function configFolder(access: Access): string {
  const { env, home, platform } = access;
  if (platform === 'win32')
    return join(env.APPDATA || join(home, 'AppData', 'Roaming'), 'Block', 'goose', 'config');
  return join(configHome(access), 'goose');
}
