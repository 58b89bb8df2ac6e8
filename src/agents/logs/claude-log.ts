import { join } from 'node:path';
import { SERVICE_FIELDS, serviceFactor } from '../../pricing/service-factors.ts';
import { readReport, readToolCalls } from '../../pricing/usage-payload.ts';
import { field, textField, timeField } from './fields.ts';
import { GEMINI_LOG } from './gemini-log.ts';
import type { AgentLog, LoggedCall, LogPlaces } from './logged-call.ts';
import { QWEN_LOG } from './qwen-log.ts';

/**
 * Claude Code's logs, as written by versions 2.1.197 and 2.1.329: `projects/FOLDER/SESSION.jsonl`, with subagents in
 * subfolders. Each block of an answer has a line with the usage of the whole answer. Resumed sessions and side
 * questions copy lines.
 */
export const CLAUDE_LOG: AgentLog = {
  folders({ home, env }: LogPlaces) {
    const roots = env.CLAUDE_CONFIG_DIR
      ? [env.CLAUDE_CONFIG_DIR]
      : [join(home, '.claude'), join(env.XDG_CONFIG_HOME || join(home, '.config'), 'claude')];
    return roots.map((root) => join(root, 'projects'));
  },
  isLog: (name) => name.endsWith('.jsonl'),
  recognizes: (line) =>
    // Others have this field too, beside fields of their own.
    (textField(line, 'sessionId') !== '' &&
      ![QWEN_LOG, GEMINI_LOG].some((log) => log.recognizes(line, ''))) ||
    (textField(line, 'type') === 'assistant' && field(line, 'message') !== undefined),
  markers: ['"usage"'],
  createParser: () => ({ parse: parseLine }),
};

/** Model name in messages that Claude Code itself generated. */
const SYNTHETIC = '<synthetic>';

function parseLine(text: string): LoggedCall | undefined {
  const line: unknown = JSON.parse(text);
  const message = field(line, 'message');
  const at = timeField(line, 'timestamp');
  const model = textField(message, 'model');
  const messageId = textField(message, 'id');
  if (textField(line, 'type') !== 'assistant' || at === undefined || model === SYNTHETIC) return undefined;
  const reported = field(message, 'usage');
  const report = readReport(reported);
  if (!report || report.usage.inputTokens + report.usage.outputTokens === 0) return undefined;
  const { usage, parts } = report;
  const requestId = textField(line, 'requestId');
  return {
    key: keyOf({ messageId, requestId, usage }, textField(line, 'uuid')),
    messageId,
    requestId,
    sessionId: textField(line, 'sessionId'),
    agentVersion: textField(line, 'version'),
    provider: '',
    model,
    at,
    usage,
    ...(parts.length > 1 && { parts }),
    ...billedBeside(reported),
    cwd: textField(line, 'cwd'),
  };
}

/**
 * Copies of a message may differ in request id, so the message id identifies a call. Without a request id, the answer
 * may come from a relay that gives every answer the same id; the prompt's size then tells calls apart.
 */
function keyOf(
  { messageId, requestId, usage }: Pick<LoggedCall, 'messageId' | 'requestId' | 'usage'>,
  uuid: string,
): string {
  if (messageId === '') return requestId || uuid;
  return requestId === '' ? `${messageId} ${usage.inputTokens}` : messageId;
}

/** Service options that change the token price, and web searches, which are billed separately. Mostly empty. */
function billedBeside(usage: unknown): Pick<LoggedCall, 'terms' | 'searches'> {
  const stated = SERVICE_FIELDS.map((name) => [name, textField(usage, name)] as const);
  const dearer = stated.filter(([name, value]) => (serviceFactor(name, value, '')?.factor ?? 1) !== 1);
  const searches = readToolCalls(usage).web_search;
  return {
    ...(dearer.length > 0 && { terms: Object.fromEntries(dearer) }),
    ...(searches !== undefined && { searches }),
  };
}
