import { isAbsolute, join } from 'node:path';
import { badRequest } from '../../errors.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { withKeyHeader } from '../run/key.ts';
import { isReached, type Makers } from '../run/makers.ts';
import { withLoopback } from '../run/no-proxy.ts';
import { optionValue, takeOption } from '../run/options.ts';
import { type Json, objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Bypass, Environment, Pointing, Start } from '../run/start.ts';
import type { Change } from '../settings/change.ts';
import { type Connecting, defaultsOf, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

/** Switches that send requests to a cloud's API instead of a base URL. */
const CLOUDS = ['BEDROCK', 'VERTEX', 'FOUNDRY', 'MANTLE', 'ANTHROPIC_AWS'].map(
  (cloud) => `CLAUDE_CODE_USE_${cloud}`,
);
const ADDRESS = ['ANTHROPIC_BASE_URL', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY', ...CLOUDS];

/**
 * Claude Code: `--settings`, whose `env` beats the shell and every settings file but the managed ones. A file in the
 * run's folder rather than JSON in the arguments, where other users of the machine could read the key.
 */
export function pointClaude(start: Start): Pointing {
  const { values, rest } = takeOption(start.args, ['--settings']);
  const given = values.at(-1);
  const own = given === undefined ? {} : readSettings(start, given);
  const inherited = { ...start.env, ...settingsEnv(start), ...envOf(own) };
  const model = optionValue(rest, '--model') ?? inherited.ANTHROPIC_MODEL ?? modelIn(own) ?? modelOf(start);
  const clouds = CLOUDS.filter(
    (name) => !['', '0', 'false', 'no', 'off', undefined].includes(inherited[name]),
  );
  const noProxy = withLoopback(inherited.NO_PROXY ?? inherited.no_proxy);
  const env = {
    ANTHROPIC_BASE_URL: start.origin,
    ANTHROPIC_AUTH_TOKEN: start.subscription ? '' : start.key,
    // Otherwise a key of the user's goes out beside the token.
    ANTHROPIC_API_KEY: '',
    ...(start.subscription && {
      ANTHROPIC_CUSTOM_HEADERS: withKeyHeader(inherited.ANTHROPIC_CUSTOM_HEADERS, start.key),
    }),
    // It would go to a socket in place of the base URL.
    ANTHROPIC_UNIX_SOCKET: '',
    ...toolSearchEnv(start.ownApis, inherited, model),
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    ...Object.fromEntries(clouds.map((name) => [name, '0'])),
  };
  const bypass = bypassOf(start);
  const file = 'claude-settings.json';
  return {
    args: ['--settings', join(start.folder, file), ...rest],
    env,
    files: { [file]: JSON.stringify({ ...own, env: { ...envOf(own), ...env } }) },
    notes: clouds.map((name) => `${name} is off in this run: requests go to gw`),
    ...(bypass && { bypass }),
  };
}

/** The value of `--settings`: JSON, or the path of a file. */
function readSettings(start: Start, given: string): Json {
  if (given.trimStart().startsWith('{')) return parse(given, '--settings');
  const path = isAbsolute(given) ? given : join(start.cwd, given);
  const text = start.files.read(path);
  if (text === undefined) throw badRequest(`cannot read the file of --settings ${given}`);
  return parse(text, path);
}

function parse(text: string, source: string): Json {
  const settings = parseObject(text);
  if (!settings) throw badRequest(`${source} is not a JSON object, so gw can't add its settings to it`);
  return settings;
}

/** The variables that settings set. */
function envOf(settings: Json | undefined): Record<string, string> {
  const entries = Object.entries(objectIn(settings, 'env'));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** The user's and the project's settings files, the strongest last. https://code.claude.com/docs/en/settings */
function settingsOf({ env, home, cwd, files }: Start): (Json | undefined)[] {
  const paths = [
    join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json'),
    join(cwd, '.claude', 'settings.json'),
    join(cwd, '.claude', 'settings.local.json'),
  ];
  return paths.map((path) => parseObject(files.read(path)));
}

const settingsEnv = (start: Start): Record<string, string> =>
  Object.assign({}, ...settingsOf(start).map(envOf));

const modelIn = (settings: Json | undefined): string | undefined => textIn(settings, 'model');

/** The model that the settings files choose. */
const modelOf = (start: Start): string | undefined =>
  settingsOf(start)
    .map(modelIn)
    .findLast((model) => model !== undefined);

function bypassOf(start: Start): Bypass | undefined {
  for (const path of managedFiles(start)) {
    const env = envOf(parseObject(start.files.read(path)));
    const name = ADDRESS.find((each) => env[each] !== undefined);
    if (name === undefined || env[name] === start.origin) continue;
    return {
      reason: `managed settings in ${path} set ${name} and beat those of this run`,
      remedy: `Ask who manages this machine to remove ${name} from them`,
    };
  }
  return undefined;
}

function managedFiles({ platform, env, home, files }: Start): string[] {
  const folder =
    platform === 'darwin'
      ? '/Library/Application Support/ClaudeCode'
      : platform === 'win32'
        ? 'C:\\Program Files\\ClaudeCode'
        : '/etc/claude-code';
  const parts = join(folder, 'managed-settings.d');
  return [
    join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'remote-settings.json'),
    join(folder, 'managed-settings.json'),
    ...files.list(parts).map((name) => join(parts, name)),
  ];
}

/** Models that Claude Code uses by short names, or for small tasks: https://code.claude.com/docs/en/model-config */
const SHORT_NAMES = ['OPUS', 'SONNET', 'HAIKU', 'FABLE'].map((name) => `ANTHROPIC_DEFAULT_${name}_MODEL`);

/**
 * What restores Claude Code's tool search, which it turns off at any base URL but Anthropic's
 * (https://code.claude.com/docs/en/env-vars): without it, the schemas of all MCP tools go with every request. gw passes
 * `tool_reference` blocks. Empty for other models and hosts, which don't have it, and where the user has chosen.
 */
function toolSearchEnv(ownApis: Makers, env: Environment, model: string | undefined): Record<string, string> {
  const models = [model, ...SHORT_NAMES.map((name) => env[name])];
  const isOn = env.ENABLE_TOOL_SEARCH === undefined && isReached(ownApis, 'anthropic', models);
  return isOn ? { ENABLE_TOOL_SEARCH: 'true' } : {};
}

/** Switches that send requests to a cloud's API instead of the base URL. */
const CLOUD_SWITCHES = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'];

/** Claude Code: the `env` of its settings, which beats the shell. https://code.claude.com/docs/en/settings */
export const connectClaude: Connecting = {
  needsModel: false,
  edits: (endpoint) => [
    {
      path: settingsFile(endpoint),
      format: 'json',
      changes: membersOf(['env'], {
        ANTHROPIC_BASE_URL: endpoint.origin,
        ANTHROPIC_AUTH_TOKEN: endpoint.subscription ? '' : endpoint.key,
        ...(endpoint.subscription && {
          ANTHROPIC_CUSTOM_HEADERS: withKeyHeader(ownHeaders(endpoint), endpoint.key),
        }),
        // Otherwise a key of the user's goes out beside the token.
        ANTHROPIC_API_KEY: '',
        ...(endpoint.model && { ANTHROPIC_MODEL: endpoint.model }),
        ...Object.fromEntries(cloudsOf(endpoint).map((name) => [name, '0'])),
      })
        .concat(
          defaultsOf(
            ['env'],
            toolSearchEnv(endpoint.ownApis, variablesOf(endpoint), modelOfEndpoint(endpoint)),
          ),
        )
        .concat(statusLineOf(endpoint)),
    },
  ],
  proof: (model = FREE_MODEL) => ({ model }),
  notes: () => ["a project's .claude/settings.json that sets ANTHROPIC_BASE_URL goes around gw"],
};

function settingsFile({ env, home }: Endpoint): string {
  return join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
}

/** The headers that the settings or the shell add. */
function ownHeaders(endpoint: Endpoint): string | undefined {
  const settings = parseObject(endpoint.files.read(settingsFile(endpoint)));
  const own = objectIn(settings, 'env').ANTHROPIC_CUSTOM_HEADERS;
  return typeof own === 'string' ? own : endpoint.env.ANTHROPIC_CUSTOM_HEADERS;
}

/** The variables that Claude Code has: those of its settings beat the shell. */
function variablesOf(endpoint: Endpoint): Environment {
  const own = envOf(parseObject(endpoint.files.read(settingsFile(endpoint))));
  // A tool search of the settings' own stays as a default does, and comes back with it.
  return { ...endpoint.env, ...own, ENABLE_TOOL_SEARCH: endpoint.env.ENABLE_TOOL_SEARCH };
}

/** The model that is asked for, or that the settings or the shell choose. */
function modelOfEndpoint(endpoint: Endpoint): string | undefined {
  const settings = parseObject(endpoint.files.read(settingsFile(endpoint)));
  return endpoint.model ?? variablesOf(endpoint).ANTHROPIC_MODEL ?? textIn(settings, 'model');
}

/** gw's status line, around the user's own. */
function statusLineOf(endpoint: Endpoint): Change[] {
  const { statusLine, files } = endpoint;
  if (statusLine === undefined) return [];
  const settings = parseObject(files.read(settingsFile(endpoint)));
  const command = textIn(objectIn(settings, 'statusLine'), 'command') ?? '';
  const isOurs = command.startsWith(statusLine);
  const wrapping = command === '' ? statusLine : `${statusLine} --wrap ${singleQuoted(command)}`;
  return membersOf(['statusLine'], { type: 'command', command: isOurs ? command : wrapping });
}

/** The switches that the shell or the settings set. */
function cloudsOf(endpoint: Endpoint): string[] {
  const text = endpoint.files.read(settingsFile(endpoint)) ?? '';
  return CLOUD_SWITCHES.filter((name) => endpoint.env[name] || text.includes(`"${name}"`));
}
