import { join } from 'node:path';
import { type Connecting, defaultsOf } from './connecting.ts';

/** Continue: a model in front of the others; the first one is the default. https://docs.continue.dev/reference */
export const connectContinue: Connecting = {
  needsModel: true,
  edits: ({ env, home, origin, key, model }) => {
    const path = join(env.CONTINUE_GLOBAL_DIR || join(home, '.continue'), 'config.yaml');
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
