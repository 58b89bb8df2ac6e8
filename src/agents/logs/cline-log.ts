import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isObject } from '../../json/object.ts';
import { NO_USAGE } from '../../usage.ts';
import { countField, field, textField } from './fields.ts';
import type { AgentLog, LoggedCall } from './logged-call.ts';
import type { LineReader } from './read-lines.ts';

/**
 * Cline's sessions, as written by version 3.0.65: `sessions/SESSION/SESSION.messages.json`, a JSON file with all messages
 * that is written anew after each, `agent_ID.messages.json` beside it for each subagent, and the folder in
 * `SESSION.json`. Input tokens have the cached ones in them for all providers. It contains no provider ids.
 */
export const CLINE_LOG: AgentLog = {
  folders: ({ home, env }) => [
    env.CLINE_SESSION_DATA_DIR || join(env.CLINE_DATA_DIR || join(home, '.cline/data'), 'sessions'),
  ],
  isLog: (name) => name.endsWith('.messages.json'),
  recognizes: (_line, path) => path.endsWith('.messages.json'),
  markers: ['"metrics"'],
  readLines: readMessages,
  createParser: () => ({ parse: parseMessage }),
};

/** Reads each message as a line: an object with its session, the version, the folder and the message. */
async function readMessages(...[path, { onLine, onBytes }]: Parameters<LineReader>): Promise<boolean> {
  const file = await readFile(path);
  const log: unknown = JSON.parse(file.toString());
  const session = dirname(path);
  const about = await readFile(join(session, `${basename(session)}.json`), 'utf8').catch(() => '{}');
  const head = {
    // A subagent's has the main session's before it.
    session: textField(log, 'sessionId').split('__')[0],
    version: textField(field(log, 'origin'), 'version'),
    cwd: textField(JSON.parse(about), 'cwd'),
  };
  const messages = field(log, 'messages');
  for (const message of Array.isArray(messages) ? messages.filter(isObject) : [])
    onLine(Buffer.from(JSON.stringify({ ...head, message })));
  onBytes?.(file.length);
  return true;
}

function parseMessage(text: string): LoggedCall | undefined {
  const row: unknown = JSON.parse(text);
  const message = field(row, 'message');
  const metrics = field(message, 'metrics');
  const at = countField(message, 'ts');
  if (textField(message, 'role') !== 'assistant' || metrics === undefined || at === 0) return undefined;
  const inputTokens = countField(metrics, 'inputTokens');
  const cachedInputTokens = Math.min(inputTokens, countField(metrics, 'cacheReadTokens'));
  const cacheWriteTokens = Math.min(inputTokens - cachedInputTokens, countField(metrics, 'cacheWriteTokens'));
  const model = field(message, 'modelInfo');
  return {
    key: textField(message, 'id'),
    messageId: '',
    requestId: '',
    sessionId: textField(row, 'session'),
    agentVersion: textField(row, 'version'),
    provider: textField(model, 'provider'),
    model: textField(model, 'id'),
    at,
    usage: {
      ...NO_USAGE,
      ...{
        inputTokens,
        cachedInputTokens,
        cacheWriteTokens,
        outputTokens: countField(metrics, 'outputTokens'),
      },
    },
    cwd: textField(row, 'cwd'),
  };
}
