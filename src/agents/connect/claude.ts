import { isAbsolute, join } from 'node:path';
import { badRequest } from '../../errors.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { withKeyHeader, withLoopback } from '../run/environment.ts';
import { isReached, type Makers } from '../run/makers.ts';
import { optionValue, takeOption } from '../run/options.ts';
import { type Json, objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Access, Bypass, Environment, Pointing, Start } from '../run/start.ts';
import type { Change } from '../settings/change.ts';
import { pointClouds } from './claude-clouds.ts';
import { type Connecting, defaultsOf, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

/**
 * Claude Code: `--settings`, whose `env` overrides the shell and every settings file except managed ones. gw passes a
 * file in the run's folder: other users of the machine could read a key in the arguments.
 */
export function pointClaude(start: Start): Pointing {
  const { values, rest } = takeOption(start.args, ['--settings']);
  const option = values.at(-1);
  const own = option === undefined ? {} : readSettings(start, option);
  const settings = [...settingsOf(start), own];
  const managed = managedEnv(start);
  const inherited: Environment = Object.assign(
    {},
    start.env,
    ...settings.map(envOf),
    ...managed.map(({ env }) => env),
  );
  const ownModel = settings.map((each) => textIn(each, 'model')).findLast((each) => each !== undefined);
  const model = optionValue(rest, '--model') ?? inherited.ANTHROPIC_MODEL ?? ownModel;
  const clouds = pointClouds(start, inherited);
  const noProxy = withLoopback(inherited.NO_PROXY ?? inherited.no_proxy);
  const address = { ...addressOf(start, inherited.ANTHROPIC_CUSTOM_HEADERS), ...clouds.variables };
  const env = {
    ...address,
    // Claude Code would send requests to this socket instead of the base URL.
    ANTHROPIC_UNIX_SOCKET: '',
    ...(!clouds.isOn && toolSearchEnv(start.ownApis, inherited, model)),
    NO_PROXY: noProxy,
    no_proxy: noProxy,
  };
  const bypass = bypassOf(managed, address);
  const file = 'claude-settings.json';
  return {
    args: ['--settings', join(start.folder, file), ...rest],
    env,
    files: { [file]: JSON.stringify({ ...own, env: { ...envOf(own), ...env } }) },
    notes: clouds.notes,
    ...(bypass && { bypass }),
  };
}

/** gw's address and key. */
function addressOf({ origin, key, subscription }: Access, headers: string | undefined) {
  return {
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_AUTH_TOKEN: subscription ? '' : key,
    ...(subscription && { ANTHROPIC_CUSTOM_HEADERS: withKeyHeader(headers, key) }),
    // Otherwise the user's own key is sent beside the token.
    ANTHROPIC_API_KEY: '',
  };
}

/** Parses the value of `--settings`: JSON, or the path of a file. */
function readSettings(start: Start, option: string): Json {
  if (option.trimStart().startsWith('{')) return parse(option, '--settings');
  const path = isAbsolute(option) ? option : join(start.cwd, option);
  const text = start.files.read(path);
  if (text === undefined) throw badRequest(`cannot read the file of --settings ${option}`);
  return parse(text, path);
}

function parse(text: string, source: string): Json {
  const settings = parseObject(text);
  if (!settings) throw badRequest(`${source} is not a JSON object, so gw can't add its settings to it`);
  return settings;
}

/** Variables that the settings set. */
function envOf(settings: Json | undefined): Record<string, string> {
  const entries = Object.entries(objectIn(settings, 'env'));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** Settings of the user and the project, in ascending precedence. https://code.claude.com/docs/en/settings */
function settingsOf({ env, home, cwd, files }: Start): (Json | undefined)[] {
  const paths = [
    settingsFile({ env, home }),
    join(cwd, '.claude', 'settings.json'),
    join(cwd, '.claude', 'settings.local.json'),
  ];
  return paths.map((path) => parseObject(files.read(path)));
}

interface ManagedEnv {
  path: string;
  env: Readonly<Record<string, string>>;
}

/** Variables of managed settings, which beat all others. */
function managedEnv(start: Start): ManagedEnv[] {
  return managedFiles(start).map((path) => ({ path, env: envOf(parseObject(start.files.read(path))) }));
}

/** `address`: the variables that lead to gw. */
function bypassOf(managed: readonly ManagedEnv[], address: Environment): Bypass | undefined {
  for (const { path, env } of managed) {
    const name = Object.keys(address).find((each) => env[each] !== undefined && env[each] !== address[each]);
    if (name === undefined) continue;
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

/** Variables for models behind short names and for small tasks: https://code.claude.com/docs/en/model-config */
const SHORT_NAMES = ['OPUS', 'SONNET', 'HAIKU', 'FABLE'].map((name) => `ANTHROPIC_DEFAULT_${name}_MODEL`);

/**
 * Re-enables Claude Code's tool search, which is off at any base URL but Anthropic's
 * (https://code.claude.com/docs/en/env-vars). Without it, every request carries the schemas of all MCP tools. gw passes
 * `tool_reference` blocks on. Empty for models and hosts without tool search, and if the user has set the variable.
 */
function toolSearchEnv(ownApis: Makers, env: Environment, model: string | undefined): Record<string, string> {
  const models = [model, ...SHORT_NAMES.map((name) => env[name])];
  const isOn = env.ENABLE_TOOL_SEARCH === undefined && isReached(ownApis, 'anthropic', models);
  return isOn ? { ENABLE_TOOL_SEARCH: 'true' } : {};
}

/** Claude Code: `env` in its settings, which overrides the shell. https://code.claude.com/docs/en/settings */
export const connectClaude: Connecting = {
  needsModel: false,
  edits(endpoint) {
    const env = variablesOf(endpoint);
    const clouds = pointClouds(endpoint, env);
    return [
      {
        path: settingsFile(endpoint),
        format: 'json',
        changes: [
          ...membersOf(['env'], {
            ...addressOf(endpoint, env.ANTHROPIC_CUSTOM_HEADERS),
            ...(endpoint.model && { ANTHROPIC_MODEL: endpoint.model }),
            ...clouds.variables,
          }),
          ...(clouds.isOn
            ? []
            : defaultsOf(['env'], toolSearchEnv(endpoint.ownApis, env, modelOfEndpoint(endpoint)))),
          ...statusLineOf(endpoint),
        ],
      },
    ];
  },
  proof: (model = FREE_MODEL) => ({ model }),
  notes: () => ["a project's .claude/settings.json that sets ANTHROPIC_BASE_URL goes around gw"],
};

function settingsFile({ env, home }: Pick<Access, 'env' | 'home'>): string {
  return join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
}

/** Claude Code's variables. Its settings override the shell. */
function variablesOf(endpoint: Endpoint): Environment {
  const own = envOf(parseObject(endpoint.files.read(settingsFile(endpoint))));
  // gw writes ENABLE_TOOL_SEARCH as a default, so that a value in the settings stays; only the shell's counts here.
  return { ...endpoint.env, ...own, ENABLE_TOOL_SEARCH: endpoint.env.ENABLE_TOOL_SEARCH };
}

/** The requested model, else the model of the settings or the shell. */
function modelOfEndpoint(endpoint: Endpoint): string | undefined {
  const settings = parseObject(endpoint.files.read(settingsFile(endpoint)));
  return endpoint.model ?? variablesOf(endpoint).ANTHROPIC_MODEL ?? textIn(settings, 'model');
}

/** gw's status line; wraps the user's status line, if there is one. */
function statusLineOf(endpoint: Endpoint): Change[] {
  const { statusLine, files } = endpoint;
  if (statusLine === undefined) return [];
  const settings = parseObject(files.read(settingsFile(endpoint)));
  const command = textIn(objectIn(settings, 'statusLine'), 'command') ?? '';
  const isOurs = command.startsWith(statusLine);
  const wrapping = command === '' ? statusLine : `${statusLine} --wrap ${singleQuoted(command)}`;
  return membersOf(['statusLine'], { type: 'command', command: isOurs ? command : wrapping });
}
