import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { objectsIn } from '../../json/object.ts';
import { NO_USAGE } from '../../usage.ts';
import { countField, field, textField, timeField } from './fields.ts';
import type { AgentLog, LoggedCall, LogParser } from './logged-call.ts';
import { type LineReader, readLines } from './read-lines.ts';

/**
 * Gemini CLI's logs, as written by version 0.61.0: `tmp/PROJECT/chats/session-TIME-ID.jsonl`, with subagents in subfolders. An
 * answer has a line, and one more with its tool calls. Earlier versions have the same in a JSON file for each session, which is
 * written anew, and no folder. Requests that choose a model, title a session or summarize are not in it, and no ids of the
 * provider.
 */
export const GEMINI_LOG: AgentLog = {
  folders: ({ home, env }) => [join(env.GEMINI_CLI_HOME || home, '.gemini/tmp')],
  isLog: (name) => name.endsWith('.jsonl') || /^session-.+\.json$/.test(name),
  recognizes: (line) =>
    textField(line, 'projectHash') !== '' || (typeof line === 'string' && /^\s*"projectHash": "/.test(line)),
  markers: ['"tokens"', '"projectHash"', '"<session_context>'],
  hasLines: (path) => path.endsWith('.jsonl'),
  readLines: (path, options) =>
    path.endsWith('.json') ? readSession(path, options) : readLines(path, options),
  createParser,
};

/** Reads the session's head and each of its messages as a line. */
async function readSession(...[path, { onLine, onBytes }]: Parameters<LineReader>): Promise<boolean> {
  const file = await readFile(path);
  const session: unknown = JSON.parse(file.toString());
  const head = { sessionId: field(session, 'sessionId'), projectHash: field(session, 'projectHash') };
  const lines = [head, ...objectsIn(field(session, 'messages'))];
  for (const line of lines) onLine(Buffer.from(JSON.stringify(line)));
  onBytes?.(file.length);
  return true;
}

function createParser(): LogParser {
  let session: unknown;
  let cwd = '';
  return {
    parse(text) {
      const line: unknown = JSON.parse(text);
      if (textField(line, 'projectHash') !== '') session = line;
      if (cwd === '') cwd = projectFolder(line, textField(session, 'projectHash'));
      return callOf(line, textField(session, 'sessionId'), cwd);
    },
  };
}

/** The folder whose hash names the project: a session's first lines list folders. */
function projectFolder(line: unknown, hash: string): string {
  const [message] = objectsIn(field(field(line, '$set'), 'messages'));
  const [part] = objectsIn(field(message, 'content'));
  const listed = [...textField(part, 'text').matchAll(/^ {2}- (.+)$/gm)].map(([, folder]) => folder);
  const own = field(line, 'directories');
  const folders = [...listed, ...(Array.isArray(own) ? own : [])].map(String);
  return folders.find((folder) => createHash('sha256').update(folder).digest('hex') === hash) ?? '';
}

function callOf(line: unknown, sessionId: string, cwd: string): LoggedCall | undefined {
  const tokens = field(line, 'tokens');
  const at = timeField(line, 'timestamp');
  if (textField(line, 'type') !== 'gemini' || at === undefined) return undefined;
  // What tools put into the prompt and thoughts are counted beside the rest.
  const inputTokens = countField(tokens, 'input') + countField(tokens, 'tool');
  const reasoningTokens = countField(tokens, 'thoughts');
  const outputTokens = countField(tokens, 'output') + reasoningTokens;
  if (inputTokens + outputTokens === 0) return undefined;
  return {
    ...{
      key: textField(line, 'id'),
      messageId: '',
      requestId: '',
      sessionId,
      agentVersion: '',
      provider: '',
    },
    model: textField(line, 'model'),
    at,
    usage: {
      ...NO_USAGE,
      inputTokens,
      cachedInputTokens: Math.min(inputTokens, countField(tokens, 'cached')),
      outputTokens,
      reasoningTokens,
    },
    cwd,
  };
}
