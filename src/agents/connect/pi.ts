import { join } from 'node:path';
import { RUN_KEY } from '../run/environment.ts';
import { optionValue, takeOption } from '../run/options.ts';
import { linkFolder } from '../run/own-folder.ts';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, FREE_MODEL, membersOf } from './connecting.ts';

/** Path of gw's address, by covered provider. */
const COVERED: Readonly<Record<string, string>> = { openai: '/v1', anthropic: '' };
const REPLACED = ['models.json', 'auth.json'];

/**
 * pi: a folder for this run that replaces `~/.pi/agent`. It links to the user's settings and sessions and has gw's
 * addresses in models.json, but no auth.json: pi would send a login from there instead of gw's key.
 */
export function pointPi(start: Start): Pointing {
  const { env, home, files, folder, origin } = start;
  const own = env.PI_CODING_AGENT_DIR || join(home, '.pi', 'agent');
  const { values: keys, rest } = takeOption(start.args, ['--api-key']);
  const configured = objectIn(parseObject(files.read(join(own, 'models.json'))), 'providers');
  const providers = Object.entries(COVERED).map(([id, path]) => [
    id,
    { ...objectIn(configured, id), baseUrl: `${origin}${path}`, apiKey: RUN_KEY },
  ]);
  const bypass = bypassOf(start, join(own, 'settings.json'));
  return {
    args: rest,
    env: { PI_CODING_AGENT_DIR: join(folder, 'pi'), [RUN_KEY]: start.key },
    files: { 'pi/models.json': JSON.stringify({ providers: Object.fromEntries(providers) }) },
    ...linkFolder(start, { own, replacement: 'pi', replaced: REPLACED, sessions: 'sessions' }),
    notes: keys.map(() => "left out --api-key: gw's own key is used"),
    ...(bypass && { bypass }),
  };
}

function bypassOf({ args, files }: Start, settings: string): Bypass | undefined {
  const model = optionValue(args, '--model');
  const ofModel = model?.includes('/') ? model.split('/')[0] : undefined;
  const requested = optionValue(args, '--provider') ?? ofModel;
  const provider = requested ?? textIn(parseObject(files.read(settings)), 'defaultProvider');
  if (provider === undefined || provider in COVERED) return undefined;
  return {
    reason: `pi's provider ${provider} has an address of its own`,
    remedy: 'Choose one that goes to gw: --provider openai, or --provider anthropic',
  };
}

/**
 * pi: built-in models at gw's address. The header overrides the keys that pi prefers: those of a login and the shell.
 */
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
