import { join } from 'node:path';
import { type Connecting, FREE_MODEL, membersOf } from './connecting.ts';

/** pi: its built-in models at gw's address. The header beats the keys that pi prefers: a login's and the shell's. */
export const connectPi: Connecting = {
  needsModel: false,
  edits: ({ env, home, origin, key, model }) => {
    const folder = env.PI_CODING_AGENT_DIR || join(home, '.pi', 'agent');
    const headers = { Authorization: `Bearer ${key}` };
    return [
      {
        path: join(folder, 'models.json'),
        format: 'json',
        changes: [
          ...membersOf(['providers', 'openai'], { baseUrl: `${origin}/v1`, apiKey: key }),
          ...membersOf(['providers', 'openai', 'headers'], headers),
          ...membersOf(['providers', 'anthropic'], { baseUrl: origin, apiKey: key }),
          ...membersOf(['providers', 'anthropic', 'headers'], headers),
          ...(model === undefined
            ? []
            : [
                ...membersOf(['providers', 'gw'], {
                  baseUrl: `${origin}/v1`,
                  api: 'openai-completions',
                  apiKey: key,
                }),
                { path: ['providers', 'gw', 'models', { by: 'id', text: model }], value: { id: model } },
              ]),
        ],
      },
      ...(model === undefined
        ? []
        : [
            {
              path: join(folder, 'settings.json'),
              format: 'json' as const,
              changes: membersOf([], { defaultProvider: 'gw', defaultModel: model }),
            },
          ]),
    ];
  },
  proof: (model) => ({ model: model === undefined ? `openai/${FREE_MODEL}` : `gw/${model}` }),
  notes: () => ['models of other providers than openai, anthropic and gw go around gw'],
};
