import { join } from 'node:path';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import { countField, field, textField, timeField } from './fields.ts';
import type { AgentLog, LoggedCall, LogPlaces } from './logged-call.ts';

/**
 * Claude Code's logs, as versions 2.1.197 and 2.1.329 write them: `projects/FOLDER/SESSION.jsonl`, subagents below. Each
 * block of an answer is a line of its own with the usage of the whole; resumed sessions and side questions copy lines.
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
    textField(line, 'sessionId') !== '' ||
    (textField(line, 'type') === 'assistant' && field(line, 'message') !== undefined),
  markers: ['"usage"'],
  createParser: () => ({ parse: parseLine }),
};

/** Stands for a model in messages that Claude Code wrote itself. */
const SYNTHETIC = '<synthetic>';

function parseLine(text: string): LoggedCall | undefined {
  const line: unknown = JSON.parse(text);
  const message = field(line, 'message');
  const at = timeField(line, 'timestamp');
  const model = textField(message, 'model');
  const messageId = textField(message, 'id');
  if (textField(line, 'type') !== 'assistant' || at === undefined || model === SYNTHETIC) return undefined;
  const usage = usageOf(field(message, 'usage'));
  if (usage.inputTokens + usage.outputTokens === 0) return undefined;
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
    cwd: textField(line, 'cwd'),
  };
}

/**
 * Copies of a message may have another request id, so the message's own id tells calls apart. Without a request id, the
 * answer may come from a relay that gives all answers one id: then only the prompt's size does.
 */
function keyOf(
  { messageId, requestId, usage }: Pick<LoggedCall, 'messageId' | 'requestId' | 'usage'>,
  uuid: string,
): string {
  if (messageId === '') return requestId || uuid;
  return requestId === '' ? `${messageId} ${usage.inputTokens}` : messageId;
}

function usageOf(usage: unknown): TokenUsage {
  const written = countField(usage, 'cache_creation_input_tokens');
  const cached = countField(usage, 'cache_read_input_tokens');
  const forAnHour = countField(field(usage, 'cache_creation'), 'ephemeral_1h_input_tokens');
  const outputTokens = countField(usage, 'output_tokens');
  const cacheWrite1hTokens = Math.min(written, forAnHour);
  return {
    ...NO_USAGE,
    inputTokens: countField(usage, 'input_tokens') + cached + written,
    cachedInputTokens: cached,
    cacheWriteTokens: written - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens,
    reasoningTokens: Math.min(
      outputTokens,
      countField(field(usage, 'output_tokens_details'), 'thinking_tokens'),
    ),
  };
}
