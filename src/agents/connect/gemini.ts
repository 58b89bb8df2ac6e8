import { join } from 'node:path';
import { linkFolder } from '../run/own-folder.ts';
import { type Json, objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Access, Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, FREE_MODEL, membersOf } from './connecting.ts';

const BY_KEY = 'gemini-api-key';
const VERTEX = 'vertex-ai';
const USE_VERTEX = 'GOOGLE_GENAI_USE_VERTEXAI';
const SYSTEM_SETTINGS = 'GEMINI_CLI_SYSTEM_SETTINGS_PATH';
const HOME = 'GEMINI_CLI_HOME';
const REPLACED = ['settings.json', '.env'];

/** The address and the key, by the mode. gw has no v1alpha. */
const variables = ({ origin, key }: Pick<Access, 'origin' | 'key'>, isVertex: boolean) =>
  isVertex
    ? {
        GOOGLE_VERTEX_BASE_URL: origin,
        // As in express mode: it beats a project and its credentials.
        GOOGLE_API_KEY: key,
        GOOGLE_GENAI_API_VERSION: 'v1beta1',
      }
    : { GOOGLE_GEMINI_BASE_URL: origin, GEMINI_API_KEY: key, GOOGLE_GENAI_API_VERSION: 'v1beta' };

const folderOf = ({ env, home }: Pick<Access, 'env' | 'home'>): string => join(env[HOME] || home, '.gemini');
const settingsOf = (access: Pick<Access, 'env' | 'home'>): string => join(folderOf(access), 'settings.json');

/**
 * Gemini CLI: variables, and a folder for this run that replaces `~/.gemini`. It links to all of the user's but settings
 * with a login, which would be used whatever the variables say. The mode of Vertex AI stays as it is.
 * https://geminicli.com/docs/reference/configuration/
 */
export function pointGemini(start: Start): Pointing {
  const { files, folder } = start;
  const own = folderOf(start);
  const settings = parseObject(files.read(settingsOf(start)));
  const security = objectIn(settings, 'security');
  const above = [systemSettings(start), join(start.cwd, '.gemini', 'settings.json')];
  const isVertex = usesVertex(start, [...above, settingsOf(start)]);
  const auth = { ...objectIn(security, 'auth'), selectedType: isVertex ? VERTEX : BY_KEY };
  const bypass = bypassOf(start, above, auth.selectedType);
  return {
    args: start.args,
    env: {
      // Google's client prefers it.
      GOOGLE_API_KEY: undefined,
      ...variables(start, isVertex),
      [HOME]: join(folder, 'gemini'),
      GEMINI_API_KEY_AUTH_MECHANISM: 'x-goog-api-key',
      GOOGLE_GENAI_USE_GCA: 'false',
      [USE_VERTEX]: String(isVertex),
    },
    files: {
      'gemini/.gemini/settings.json': JSON.stringify({ ...settings, security: { ...security, auth } }),
    },
    ...linkFolder(start, { own, replacement: 'gemini/.gemini', replaced: REPLACED, sessions: 'tmp' }),
    ...(bypass && { bypass }),
  };
}

const authIn = ({ files }: Pick<Access, 'files'>, path: string): Json =>
  objectIn(objectIn(parseObject(files.read(path)), 'security'), 'auth');

/** Whether the mode of Vertex AI is on, by settings files of falling precedence, or by a variable where these name none. */
function usesVertex(access: Pick<Access, 'env' | 'home' | 'files'>, paths: readonly string[]): boolean {
  const auths = paths.map((path) => authIn(access, path));
  const selected = auths.map((auth) => textIn(auth, 'selectedType')).find((type) => type !== undefined);
  if (selected !== undefined) return selected === VERTEX;
  const file = access.files.read(join(folderOf(access), '.env')) ?? '';
  return (access.env[USE_VERTEX] ?? USED_VERTEX.exec(file)?.[1]) === 'true';
}

/** Whether the user's own settings, beside which `gw connect` knows no others, have the mode on. */
const isVertexFor = (access: Pick<Access, 'env' | 'home' | 'files'>): boolean =>
  usesVertex(access, [settingsOf(access)]);

const USED_VERTEX = new RegExp(`^\\s*(?:export )?${USE_VERTEX}\\s*=\\s*["']?(\\w+)`, 'm');

/** Settings of the project and of the machine beat the user's. */
function bypassOf(start: Start, paths: readonly string[], mode: string): Bypass | undefined {
  for (const path of paths) {
    const auth = authIn(start, path);
    for (const name of ['selectedType', 'enforcedType']) {
      const type = textIn(auth, name);
      if (type === undefined || type === mode) continue;
      return {
        reason: `security.auth.${name} in ${path} is ${type}, a service of its own`,
        remedy: `Set it to ${mode} there, or remove it`,
      };
    }
  }
  return undefined;
}

function systemSettings({ env, platform }: Pick<Access, 'env' | 'platform'>): string {
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
    const isVertex = isVertexFor(endpoint);
    return [
      {
        path: settingsOf(endpoint),
        format: 'json',
        changes: [
          ...membersOf(['security', 'auth'], { selectedType: isVertex ? VERTEX : BY_KEY }),
          ...(endpoint.model ? membersOf(['model'], { name: endpoint.model }) : []),
        ],
      },
      {
        path: join(folderOf(endpoint), '.env'),
        format: 'dotenv',
        changes: membersOf([], variables(endpoint, isVertex)),
      },
    ];
  },
  proof: (model = FREE_MODEL) => ({ model }),
  notes: (endpoint) => [
    'a project with an .env of its own, and a folder that Gemini CLI does not trust, go around gw: use gw run -- gemini',
    ...Object.keys(variables(endpoint, isVertexFor(endpoint)))
      .filter((name) => name !== 'GOOGLE_GENAI_API_VERSION' && endpoint.env[name])
      .map((name) => `${name} of the shell beats the file: remove it there`),
  ],
};
