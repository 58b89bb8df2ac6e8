import { basename, join } from 'node:path';
import { NO_USAGE } from '../../usage.ts';
import { countField, textField } from './fields.ts';
import type { AgentLog, LoggedCall } from './logged-call.ts';
import { rowReader } from './read-database.ts';

/** A call's model, else the session's. A subagent's session names its parent. Newest first, as copies come later. */
const CALLS = `SELECT l.created_timestamp AS at, l.input_tokens AS input, l.output_tokens AS output,
    l.total_tokens AS total, l.cache_read_tokens AS cached, l.cache_write_tokens AS written,
    coalesce(s.parent_session_id, l.session_id) AS session, s.working_dir AS cwd, s.provider_name AS provider,
    coalesce(l.model, json_extract(s.model_config_json, '$.model_name')) AS model
  FROM usage_ledger l JOIN sessions s ON s.id = l.session_id ORDER BY l.id DESC`;

/**
 * Goose's sessions, from version 15 of its schema on (earlier ones keep no calls): a SQLite database with a row of each call's usage, after
 * https://github.com/block/goose/blob/main/crates/goose/src/session/session_manager.rs. It contains no provider ids.
 */
export const GOOSE_LOG: AgentLog = {
  folders: ({ home, env }) => [
    join(
      env.GOOSE_PATH_ROOT ? join(env.GOOSE_PATH_ROOT, 'data') : join(dataFolder(home, env), 'goose'),
      'sessions',
    ),
    join(home, 'Library/Application Support/Block/goose/sessions'),
  ],
  isLog: (name) => name === 'sessions.db',
  recognizes: (line, path) =>
    typeof line === 'string' && line.startsWith('SQLite format 3') && basename(path) === 'sessions.db',
  markers: ['"session"'],
  readLines: rowReader<object>(CALLS, (row) => JSON.stringify(row)),
  createParser: () => ({ parse: parseCall }),
};

function dataFolder(home: string, { XDG_DATA_HOME }: Readonly<Record<string, string | undefined>>): string {
  return XDG_DATA_HOME || join(home, '.local/share');
}

function parseCall(text: string): LoggedCall | undefined {
  const row: unknown = JSON.parse(text);
  const [at, input, output, cached, written] = (['at', 'input', 'output', 'cached', 'written'] as const).map(
    (name) => countField(row, name),
  ) as [number, number, number, number, number];
  if (at === 0 || input + output === 0) return undefined;
  // Providers count the cache within the input or beside it: the total tells.
  const isBeside = countField(row, 'total') === input + output + cached + written;
  const inputTokens = isBeside ? input + cached + written : input;
  const cachedInputTokens = Math.min(inputTokens, cached);
  const model = textField(row, 'model');
  return {
    key: `${at} ${model} ${input} ${output} ${cached} ${written}`,
    messageId: '',
    requestId: '',
    sessionId: textField(row, 'session'),
    agentVersion: '',
    provider: textField(row, 'provider'),
    model,
    at: at * 1_000,
    usage: {
      ...NO_USAGE,
      inputTokens,
      cachedInputTokens,
      cacheWriteTokens: Math.min(inputTokens - cachedInputTokens, written),
      outputTokens: output,
    },
    cwd: textField(row, 'cwd'),
  };
}
