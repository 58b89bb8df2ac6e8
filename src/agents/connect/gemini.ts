import { join } from 'node:path';
import { linkFolder } from '../run/own-folder.ts';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Access, Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, FREE_MODEL, membersOf } from './connecting.ts';

const BY_KEY = 'gemini-api-key';
const SYSTEM_SETTINGS = 'GEMINI_CLI_SYSTEM_SETTINGS_PATH';
const HOME = 'GEMINI_CLI_HOME';
const REPLACED = ['settings.json', '.env'];

/** The address and the key. */
const variables = ({ origin, key }: Pick<Access, 'origin' | 'key'>) => ({
  GOOGLE_GEMINI_BASE_URL: origin,
  GEMINI_API_KEY: key,
  // gw has no v1alpha.
  GOOGLE_GENAI_API_VERSION: 'v1beta',
});

const folderOf = ({ env, home }: Pick<Access, 'env' | 'home'>): string => join(env[HOME] || home, '.gemini');

/**
 * Gemini CLI: variables, and a folder for this run that replaces `~/.gemini`. It links to all of the user's but settings
 * with a login, which would be used whatever the variables say. https://geminicli.com/docs/reference/configuration/
 */
export function pointGemini(start: Start): Pointing {
  const { files, folder } = start;
  const own = folderOf(start);
  const settings = parseObject(files.read(join(own, 'settings.json')));
  const security = objectIn(settings, 'security');
  const auth = { ...objectIn(security, 'auth'), selectedType: BY_KEY };
  const bypass = bypassOf(start);
  return {
    args: start.args,
    env: {
      ...variables(start),
      [HOME]: join(folder, 'gemini'),
      GEMINI_API_KEY_AUTH_MECHANISM: 'x-goog-api-key',
      GOOGLE_GENAI_USE_GCA: 'false',
      GOOGLE_GENAI_USE_VERTEXAI: 'false',
      // Google's client prefers it.
      GOOGLE_API_KEY: undefined,
    },
    files: {
      'gemini/.gemini/settings.json': JSON.stringify({ ...settings, security: { ...security, auth } }),
    },
    ...linkFolder(start, { own, replacement: 'gemini/.gemini', replaced: REPLACED, sessions: 'tmp' }),
    ...(bypass && { bypass }),
  };
}

/** Settings of the project and of the machine beat the user's. */
function bypassOf(start: Start): Bypass | undefined {
  for (const path of [join(start.cwd, '.gemini', 'settings.json'), systemSettings(start)]) {
    const auth = objectIn(objectIn(parseObject(start.files.read(path)), 'security'), 'auth');
    for (const name of ['selectedType', 'enforcedType']) {
      const type = textIn(auth, name);
      if (type === undefined || type === BY_KEY) continue;
      return {
        reason: `security.auth.${name} in ${path} is ${type}, a service of its own`,
        remedy: `Set it to ${BY_KEY} there, or remove it`,
      };
    }
  }
  return undefined;
}

function systemSettings({ env, platform }: Start): string {
  const override = env[SYSTEM_SETTINGS];
  if (override) return override;
  if (platform === 'darwin') return '/Library/Application Support/GeminiCli/settings.json';
  return platform === 'win32'
    ? 'C:\\ProgramData\\gemini-cli\\settings.json'
    : '/etc/gemini-cli/settings.json';
}

/** Gemini CLI has an address in variables alone, which it also reads from a file. */
export const connectGemini: Connecting = {
  needsModel: false,
  edits: (endpoint) => {
    const folder = folderOf(endpoint);
    return [
      {
        path: join(folder, 'settings.json'),
        format: 'json',
        changes: [
          ...membersOf(['security', 'auth'], { selectedType: BY_KEY }),
          ...(endpoint.model ? membersOf(['model'], { name: endpoint.model }) : []),
        ],
      },
      { path: join(folder, '.env'), format: 'dotenv', changes: membersOf([], variables(endpoint)) },
    ];
  },
  proof: (model = FREE_MODEL) => ({ model }),
  notes: ({ env }) => [
    'a project with an .env of its own, and a folder that Gemini CLI does not trust, go around gw: use gw run -- gemini',
    ...['GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL']
      .filter((name) => env[name])
      .map((name) => `${name} of the shell beats the file: remove it there`),
  ],
};
