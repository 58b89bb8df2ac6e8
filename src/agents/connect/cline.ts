import { join } from 'node:path';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import { type Connecting, defaultsOf, type Endpoint, membersOf } from './connecting.ts';

/** Cline: the file that its command line and its VS Code extension share. Cline rewrites it at each run. */
export const connectCline: Connecting = {
  needsModel: true,
  ownModel: (endpoint) => {
    const settings = parseObject(endpoint.files.read(settingsFile(endpoint)));
    const used = objectIn(objectIn(settings, 'providers'), textIn(settings, 'lastUsedProvider') ?? '');
    return textIn(objectIn(used, 'settings'), 'model');
  },
  edits: (endpoint) => {
    const { origin, key, model } = endpoint;
    const path = settingsFile(endpoint);
    const provider = ['providers', 'openai-compatible'];
    return [
      {
        path,
        format: 'json',
        changes: [
          ...defaultsOf([], { version: 1 }),
          ...membersOf([], { lastUsedProvider: 'openai-compatible' }),
          ...membersOf([...provider, 'settings'], {
            provider: 'openai-compatible',
            apiKey: key,
            model: model ?? '',
            baseUrl: `${origin}/v1`,
          }),
          // Cline drops an entry without a date, and renews it.
          ...defaultsOf(provider, { updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' }),
        ],
      },
    ];
  },
  notes: () => ['another provider chosen in Cline, such as its own, goes around gw'],
};

function settingsFile({ env, home }: Endpoint): string {
  return env.CLINE_PROVIDER_SETTINGS_PATH || join(home, '.cline', 'data', 'settings', 'providers.json');
}
