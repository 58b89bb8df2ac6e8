import { join } from 'node:path';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import { type Connecting, type Endpoint, membersOf } from './connecting.ts';

/** A variable of gw's own: Qwen Code reads a provider's key from the variable that `envKey` names. */
const KEY_VARIABLE = 'GW_QWEN_KEY';
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

/** Qwen Code. https://qwenlm.github.io/qwen-code-docs/en/users/configuration/model-providers/ */
export const connectQwen: Connecting = {
  needsModel: true,
  ownModel: (endpoint) => {
    const settings = parseObject(endpoint.files.read(settingsFile(endpoint)));
    return textIn(objectIn(settings, 'model'), 'name') ?? endpoint.env.OPENAI_MODEL;
  },
  edits: (endpoint) => {
    const { origin, key, model = '' } = endpoint;
    return [
      {
        path: settingsFile(endpoint),
        format: 'json',
        changes: [
          {
            // An entry of modelProviders beats OPENAI_BASE_URL in the shell.
            path: ['modelProviders', 'openai', { by: 'id', text: model }],
            value: { id: model, name: `${model} by gw`, baseUrl: `${origin}/v1`, envKey: KEY_VARIABLE },
          },
          ...membersOf(['env'], { [KEY_VARIABLE]: key }),
          ...membersOf(['security', 'auth'], { selectedType: 'openai' }),
          ...membersOf(['model'], { name: model }),
        ],
      },
    ];
  },
  notes: ({ env }) => [
    'other models chosen with /model go around gw',
    ...(PROXIES.some((name) => env[name])
      ? [
          'Qwen Code 0.15 asks the proxy of the environment for gw, whatever NO_PROXY says: use gw run -- qwen',
        ]
      : []),
  ],
};

function settingsFile({ env, home }: Endpoint): string {
  return join(env.QWEN_HOME || join(home, '.qwen'), 'settings.json');
}
