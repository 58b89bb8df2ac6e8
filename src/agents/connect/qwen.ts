import { join } from 'node:path';
import { isObject } from '../../json/object.ts';
import { RUN_KEY } from '../run/environment.ts';
import { takeOption } from '../run/options.ts';
import { type Json, objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Pointing, Start } from '../run/start.ts';
import { type Connecting, type Endpoint, membersOf } from './connecting.ts';

const FILE = 'qwen-settings.json';
const SYSTEM_SETTINGS = 'QWEN_CODE_SYSTEM_SETTINGS_PATH';
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

/**
 * Qwen Code: variables, the flag that enables them, and system settings for this run. A user's `modelProviders`
 * override variables and flags (0.15.10); system settings override `modelProviders`.
 */
export function pointQwen(start: Start): Pointing {
  const { env, files, folder, key } = start;
  const auth = takeOption(start.args, ['--auth-type']);
  const type = auth.values.at(-1) ?? 'openai';
  const address = takeOption(auth.rest, ['--openai-base-url', '--openai-api-key']);
  const isCovered = type === 'openai' || type === 'anthropic';
  const system = parseObject(files.read(systemSettings(start)));
  const proxies = PROXIES.filter((name) => env[name]);
  const settings = { ...system, proxy: '', modelProviders: modelProviders(start, system) };
  return {
    args: ['--auth-type', type, ...address.rest],
    env: {
      [SYSTEM_SETTINGS]: join(folder, FILE),
      [RUN_KEY]: key,
      ...Object.fromEntries(proxies.map((name) => [name, undefined])),
    },
    files: { [FILE]: JSON.stringify(settings) },
    notes: [
      ...(address.values.length > 0
        ? ["left out --openai-base-url and --openai-api-key: gw's are used"]
        : []),
      ...(proxies.length > 0
        ? [
            `${proxies.join(', ')} off in this run: Qwen Code would ask the proxy for gw, whatever NO_PROXY says`,
          ]
        : []),
    ],
    ...(!isCovered && {
      bypass: { reason: `--auth-type ${type} has a service of its own`, remedy: 'Use: --auth-type openai' },
    }),
  };
}

/**
 * The user's models of the covered APIs, with gw's address. The last file with `modelProviders` replaces the others.
 */
function modelProviders({ home, cwd, files, origin }: Start, system: Json | undefined): Json {
  const own = [join(home, '.qwen', 'settings.json'), join(cwd, '.qwen', 'settings.json')];
  const all = [...own.map((path) => parseObject(files.read(path))), system];
  const providers = objectIn(
    all.findLast((settings) => settings && 'modelProviders' in settings),
    'modelProviders',
  );
  const at = (api: string, baseUrl: string) => {
    const models: unknown = providers[api];
    if (!Array.isArray(models)) return {};
    return { [api]: models.filter(isObject).map((model) => ({ ...model, baseUrl, envKey: RUN_KEY })) };
  };
  return { ...at('openai', `${origin}/v1`), ...at('anthropic', origin) };
}

function systemSettings({ env, platform }: Start): string {
  const override = env[SYSTEM_SETTINGS];
  if (override) return override;
  if (platform === 'darwin') return '/Library/Application Support/QwenCode/settings.json';
  return platform === 'win32' ? 'C:\\ProgramData\\qwen-code\\settings.json' : '/etc/qwen-code/settings.json';
}

/** Qwen Code reads a provider's key from the variable that `envKey` names. */
const KEY_VARIABLE = 'GW_QWEN_KEY';

/** https://qwenlm.github.io/qwen-code-docs/en/users/configuration/model-providers/ */
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
            // An entry of modelProviders overrides OPENAI_BASE_URL in the shell.
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
