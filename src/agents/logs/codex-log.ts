import { join } from 'node:path';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import { countField, field, textField, timeField } from './fields.ts';
import type { AgentLog, LoggedCall, LogParser } from './logged-call.ts';

/**
 * Codex's logs, as written by version 0.169: `sessions/YYYY/MM/DD/rollout-TIME-SESSION.jsonl`, compressed ones with
 * `.zst`, archived ones in a separate folder. A `token_usage_record` is one response with its id; older versions write
 * only `token_count`.
 */
export const CODEX_LOG: AgentLog = {
  folders({ home, env }) {
    const root = env.CODEX_HOME || join(home, '.codex');
    return [join(root, 'sessions'), join(root, 'archived_sessions')];
  },
  isLog: (name) => name.startsWith('rollout-') && /\.jsonl(\.zst)?$/.test(name),
  recognizes: (line) => textField(line, 'type') !== '' && field(line, 'payload') !== undefined,
  markers: ['"session_meta"', '"turn_context"', '"token_usage_record"', '"token_count"'],
  createParser,
};

type Session = Pick<LoggedCall, 'sessionId' | 'agentVersion' | 'provider' | 'cwd'> & {
  id: string;
  /** Id of the session at the root of the forks, else the session's own id. */
  origin: string;
};

function createParser(): LogParser {
  let session: Session = { id: '', sessionId: '', agentVersion: '', provider: '', cwd: '', origin: '' };
  let model = '';
  let hasRecords = false;
  let counted = '';

  /** The response that a `token_count` reports. The event repeats after other events, with the same total. */
  function countedCall(info: unknown, at: number): LoggedCall | undefined {
    const total = field(info, 'total_token_usage');
    const key = `${session.origin} ${countField(total, 'input_tokens')} ${countField(total, 'output_tokens')}`;
    if (hasRecords || total === undefined || key === counted) return undefined;
    counted = key;
    return callOf({ key, messageId: '', at, usage: usageOf(field(info, 'last_token_usage')) });
  }

  function callOf(call: Pick<LoggedCall, 'key' | 'messageId' | 'at' | 'usage'>): LoggedCall | undefined {
    const { id: _id, origin: _, ...rest } = session;
    const { inputTokens, outputTokens } = call.usage;
    return inputTokens + outputTokens === 0 ? undefined : { ...rest, ...call, requestId: '', model };
  }

  return {
    parse(text) {
      const line: unknown = JSON.parse(text);
      const payload = field(line, 'payload');
      const at = timeField(line, 'timestamp') ?? 0;
      switch (textField(line, 'type')) {
        case 'session_meta':
          // A fork copies the lines of its parent session, including the head. The parent may be a fork too, and the
          // fork's own head may not name it: https://github.com/ccusage/ccusage/issues/1349
          if (session.id === '') session = sessionOf(payload);
          else if (textField(payload, 'id') === session.origin || session.origin === session.id)
            session = { ...session, origin: sessionOf(payload).origin };
          return undefined;
        case 'turn_context':
          model = textField(payload, 'model') || model;
          session = { ...session, cwd: textField(payload, 'cwd') || session.cwd };
          return undefined;
        case 'token_usage_record': {
          hasRecords = true;
          const messageId = textField(payload, 'response_id');
          const usage = usageOf(field(payload, 'usage'));
          const total = usageOf(field(payload, 'thread_token_usage'));
          const key = messageId || `${session.origin} ${total.inputTokens} ${total.outputTokens}`;
          return callOf({ key, messageId, at, usage });
        }
        case 'event_msg':
          return textField(payload, 'type') === 'token_count'
            ? countedCall(field(payload, 'info'), at)
            : undefined;
        default:
          return undefined;
      }
    },
  };
}

function sessionOf(meta: unknown): Session {
  const id = textField(meta, 'id');
  return {
    id,
    // Subagents are threads with separate ids, in the session of their parent.
    sessionId: textField(meta, 'session_id') || id,
    agentVersion: textField(meta, 'cli_version'),
    provider: textField(meta, 'model_provider'),
    cwd: textField(meta, 'cwd'),
    origin: textField(meta, 'forked_from_id') || id,
  };
}

/** `input_tokens` includes cached tokens. */
function usageOf(usage: unknown): TokenUsage {
  const inputTokens = countField(usage, 'input_tokens');
  const cachedInputTokens = Math.min(inputTokens, countField(usage, 'cached_input_tokens'));
  const outputTokens = countField(usage, 'output_tokens');
  return {
    ...NO_USAGE,
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens: Math.min(
      inputTokens - cachedInputTokens,
      countField(usage, 'cache_write_input_tokens'),
    ),
    outputTokens,
    reasoningTokens: Math.min(outputTokens, countField(usage, 'reasoning_output_tokens')),
  };
}
