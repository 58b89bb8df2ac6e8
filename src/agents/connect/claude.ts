import { join } from 'node:path';
import { singleQuoted } from '../../shell-quoted.ts';
import { toolSearchEnv } from '../run/claude.ts';
import { withKeyHeader } from '../run/key-header.ts';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
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
          defaultsOf(['env'], toolSearchEnv({ ...endpoint, model: endpoint.model ?? ownModel(endpoint) })),
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

/** The model that the settings or the shell choose. */
function ownModel(endpoint: Endpoint): string | undefined {
  const settings = parseObject(endpoint.files.read(settingsFile(endpoint)));
  return (
    textIn(objectIn(settings, 'env'), 'ANTHROPIC_MODEL') ??
    endpoint.env.ANTHROPIC_MODEL ??
    textIn(settings, 'model')
  );
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
