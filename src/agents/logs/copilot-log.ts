import { join } from 'node:path';
import { NO_USAGE } from '../../usage.ts';
import { countField, field, textField, timeField } from './fields.ts';
import type { AgentLog, LogParser } from './logged-call.ts';

/**
 * Copilot CLI's logs, as written by version 1.0.102: `session-state/SESSION/events.jsonl`, with a record of each answer's
 * usage, those of subagents included. A resumed session goes on in its file.
 */
export const COPILOT_LOG: AgentLog = {
  folders: ({ home, env }) => [join(env.COPILOT_HOME || join(home, '.copilot'), 'session-state')],
  isLog: (name) => name === 'events.jsonl',
  recognizes: (line) => textField(field(line, 'data'), 'producer') === 'copilot-agent',
  markers: ['"session.start"', '"session.usage_record"'],
  createParser,
};

function createParser(): LogParser {
  let session: unknown;
  return {
    parse(text) {
      const line: unknown = JSON.parse(text);
      const data = field(line, 'data');
      if (textField(line, 'type') === 'session.start') session = data;
      const at = timeField(line, 'timestamp');
      if (textField(line, 'type') !== 'session.usage_record' || at === undefined) return undefined;
      const usage = field(data, 'usage');
      const inputTokens = countField(usage, 'inputTokens');
      const cachedInputTokens = Math.min(inputTokens, countField(usage, 'cacheReadTokens'));
      const cacheWriteTokens = Math.min(
        inputTokens - cachedInputTokens,
        countField(usage, 'cacheWriteTokens'),
      );
      const outputTokens = countField(usage, 'outputTokens');
      const reasoningTokens = Math.min(outputTokens, countField(usage, 'reasoningTokens'));
      return {
        key: textField(line, 'id'),
        messageId: textField(usage, 'apiCallId'),
        requestId: '',
        sessionId: textField(session, 'sessionId'),
        agentVersion: textField(session, 'copilotVersion'),
        provider: '',
        model: textField(usage, 'model'),
        at,
        usage: {
          ...NO_USAGE,
          ...{ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens },
        },
        cwd: textField(field(session, 'context'), 'cwd'),
      };
    },
  };
}
