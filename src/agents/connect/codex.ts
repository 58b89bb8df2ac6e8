import { configFile, modelsIn, providerName } from '../run/codex.ts';
import { KEY_HEADER } from '../run/key.ts';
import { type Connecting, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

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
          name: endpoint.subscription ? 'gw' : providerName(endpoint.ownApis, modelsOf(endpoint)),
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

function modelsOf(endpoint: Endpoint): string[] {
  return endpoint.model ? [endpoint.model] : modelsIn(endpoint.files.read(configFile(endpoint)) ?? '');
}
