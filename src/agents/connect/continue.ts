import { join } from 'node:path';
import { parseYaml, textIn } from '../run/settings-text.ts';
import { type Connecting, defaultsOf, type Endpoint } from './connecting.ts';

/** Continue: a model in front of the others; the first one is the default. https://docs.continue.dev/reference */
export const connectContinue: Connecting = {
  needsModel: true,
  // The first model is the default.
  ownModel: (endpoint) => {
    const models = parseYaml(endpoint.files.read(settingsFile(endpoint)))?.models;
    return Array.isArray(models) ? textIn(models[0], 'model') : undefined;
  },
  edits: (endpoint) => {
    const { origin, key, model } = endpoint;
    const path = settingsFile(endpoint);
    return [
      {
        path,
        format: 'yaml',
        changes: [
          ...defaultsOf([], { name: 'gw', version: '1.0.0', schema: 'v1' }),
          {
            path: ['models', { by: 'name', text: 'gw' }],
            value: {
              name: 'gw',
              provider: 'openai',
              model: model ?? '',
              apiBase: `${origin}/v1`,
              apiKey: key,
              roles: ['chat', 'edit', 'apply'],
            },
          },
        ],
      },
    ];
  },
  notes: () => ['other models chosen in Continue, its autocompletion and hub assistants go around gw'],
};

function settingsFile({ env, home }: Endpoint): string {
  return join(env.CONTINUE_GLOBAL_DIR || join(home, '.continue'), 'config.yaml');
}
