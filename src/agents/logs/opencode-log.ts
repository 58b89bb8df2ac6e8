import { basename, join } from 'node:path';
import { NO_USAGE } from '../../usage.ts';
import { countField, field, textField } from './fields.ts';
import type { AgentLog, LoggedCall } from './logged-call.ts';
import { rowReader } from './read-database.ts';

/**
 * Sessions of opencode, as written by version 1.18, and of its forks: a SQLite database with a row of JSON per message.
 * It contains no requests for session titles and no provider ids.
 */
export function opencodeLog(name: 'opencode' | 'kilo'): AgentLog {
  return {
    folders: ({ home, env }) => [join(env.XDG_DATA_HOME || join(home, '.local/share'), name)],
    // Test builds use a separate database: `opencode-dev.db`.
    isLog: (fileName) => fileName.startsWith(name) && fileName.endsWith('.db'),
    markers: ['"assistant"'],
    recognizes: (line, path) =>
      typeof line === 'string' &&
      line.startsWith('SQLite format 3') &&
      // Goose's.
      basename(path) !== 'sessions.db' &&
      basename(path).startsWith('kilo') === (name === 'kilo'),
    readLines: readMessages,
    createParser: () => ({ parse: parseMessage }),
  };
}

interface Row {
  id: string;
  session: string;
  version: string | null;
  folder: string | null;
  data: unknown;
}

/** Newest rows first, so that copies in a fork come before the original: of two reports of a call, the second wins. */
const MESSAGES = `SELECT m.id, m.session_id AS session, s.version, s.directory AS folder, m.data
  FROM message m LEFT JOIN session s ON s.id = m.session_id ORDER BY m.rowid DESC`;

/** An object with the row's columns and the stored message. */
const readMessages = rowReader<Row>(
  MESSAGES,
  ({ data, ...head }) => `${JSON.stringify(head).slice(0, -1)},"message":${data}}`,
);

function parseMessage(text: string): LoggedCall | undefined {
  const row: unknown = JSON.parse(text);
  const message = field(row, 'message');
  const tokens = field(message, 'tokens');
  const time = field(message, 'time');
  // A running message has no end time and incomplete token counts.
  const at = countField(time, 'completed');
  if (textField(message, 'role') !== 'assistant' || at === 0) return undefined;
  const cached = countField(field(tokens, 'cache'), 'read');
  const written = countField(field(tokens, 'cache'), 'write');
  const reasoningTokens = countField(tokens, 'reasoning');
  const usage = {
    ...NO_USAGE,
    inputTokens: countField(tokens, 'input') + cached + written,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: countField(tokens, 'output') + reasoningTokens,
    reasoningTokens,
  };
  if (usage.inputTokens + usage.outputTokens === 0) return undefined;
  return {
    // A fork copies messages under new ids.
    key: `${countField(time, 'created')} ${at} ${usage.inputTokens} ${usage.outputTokens}`,
    messageId: '',
    requestId: '',
    sessionId: textField(row, 'session'),
    agentVersion: textField(row, 'version'),
    provider: textField(message, 'providerID'),
    model: textField(message, 'modelID'),
    at,
    usage,
    cwd: textField(field(message, 'path'), 'cwd') || textField(row, 'folder'),
  };
}
