import { join } from 'node:path';
import { singleQuoted } from '../../shell-quoted.ts';
import { envOf, toolSearchEnv } from '../run/claude.ts';
import { withKeyHeader } from '../run/key.ts';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Environment } from '../run/start.ts';
import type { Change } from '../settings/change.ts';
import { type Connecting, defaultsOf, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

/** Switches that send requests to a cloud's API instead of the base URL. */
const CLOUDS = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'];

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
          defaultsOf(['env'], toolSearchEnv(endpoint.ownApis, variablesOf(endpoint), modelOf(endpoint))),
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
function modelOf(endpoint: Endpoint): string | undefined {
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
  return CLOUDS.filter((name) => endpoint.env[name] || text.includes(`"${name}"`));
}
