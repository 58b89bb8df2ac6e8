import { join } from 'node:path';
import { parseYaml, textIn } from '../run/settings-text.ts';
import { type Connecting, configHome, type Endpoint, membersOf } from './connecting.ts';

/**
 * Goose: a custom provider, whose file may hold a header with the key; its own keys are in the system's keyring.
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

function configFolder(endpoint: Endpoint): string {
  const { env, home, platform } = endpoint;
  if (platform === 'win32') {
    return join(env.APPDATA || join(home, 'AppData', 'Roaming'), 'Block', 'goose', 'config');
  }
  return join(configHome(endpoint), 'goose');
}
