import { join } from 'node:path';
import { NO_USAGE } from '../../usage.ts';
import { countField, field, textField, timeField } from './fields.ts';
import type { AgentLog, LoggedCall } from './logged-call.ts';

/**
 * Qwen Code's logs, as written by version 0.15.10: `projects/FOLDER/chats/SESSION.jsonl`, with a line of telemetry for each
 * answer, those for its memory and subagents included. Lines of a copied session keep their ids.
 */
export const QWEN_LOG: AgentLog = {
  folders: ({ home }) => [join(home, '.qwen/projects')],
  isLog: (name) => name.endsWith('.jsonl'),
  recognizes: (line) =>
    field(line, 'systemPayload') !== undefined || field(field(line, 'message'), 'parts') !== undefined,
  markers: ['"qwen-code.api_response"'],
  createParser: () => ({ parse: parseLine }),
};

function parseLine(text: string): LoggedCall | undefined {
  const line: unknown = JSON.parse(text);
  const event = field(field(line, 'systemPayload'), 'uiEvent');
  const at = timeField(event, 'event.timestamp');
  if (textField(event, 'event.name') !== 'qwen-code.api_response' || at === undefined) return undefined;
  const inputTokens = countField(event, 'input_token_count');
  const written = countField(event, 'output_token_count');
  const reasoningTokens = countField(event, 'thoughts_token_count');
  // Google counts thoughts beside the output, OpenAI as a part of it: the total tells.
  const isBeside = countField(event, 'total_token_count') === inputTokens + written + reasoningTokens;
  return {
    key: textField(line, 'uuid'),
    messageId: textField(event, 'response_id'),
    requestId: '',
    sessionId: textField(line, 'sessionId'),
    agentVersion: textField(line, 'version'),
    provider: '',
    model: textField(event, 'model'),
    at,
    usage: {
      ...NO_USAGE,
      inputTokens,
      cachedInputTokens: Math.min(inputTokens, countField(event, 'cached_content_token_count')),
      outputTokens: isBeside ? written + reasoningTokens : written,
      reasoningTokens,
    },
    cwd: textField(line, 'cwd'),
  };
}
