import { type RequestId, requestIdAt, timeOfRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { FLAGS, type Flag, OUTCOMES, type Outcome } from '../ledger/record.ts';

export { OUTCOMES, type Outcome } from '../ledger/record.ts';

/** A request record as it is read back. */
export interface LoggedRequest {
  id: RequestId;
  timeMs: number;
  project: string;
  keyHint: string;
  endpoint: string;
  provider: string;
  model: string;
  askedModel: string;
  status: number;
  outcome: Outcome;
  flags: Flag[];
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  savedTokens: number;
  costNanoUsd: NanoUsd;
  savedNanoUsd: NanoUsd;
  holdNanoUsd: NanoUsd;
  durationMs: number;
  firstByteMs: number | null;
  /** The calling program and its git repository; '' where they aren't known. */
  process: string;
  repo: string;
  detail: Record<string, unknown>;
}

interface Row extends Omit<LoggedRequest, 'timeMs' | 'outcome' | 'flags' | 'detail'> {
  outcome: number;
  flags: number;
  detail: string | null;
}

const SELECT = `SELECT r.id, p.name AS project, coalesce(k.hint, '') AS keyHint, e.name AS endpoint, v.name AS provider,
  m.name AS model, a.name AS askedModel, r.status, r.outcome, r.flags, r.input_tokens AS inputTokens,
  r.cached_input_tokens AS cachedInputTokens, r.cache_write_tokens AS cacheWriteTokens,
  r.output_tokens AS outputTokens, r.reasoning_tokens AS reasoningTokens, r.saved_tokens AS savedTokens,
  r.cost_nano_usd AS costNanoUsd, r.saved_nano_usd AS savedNanoUsd, r.hold_nano_usd AS holdNanoUsd,
  r.duration_ms AS durationMs, r.first_byte_ms AS firstByteMs, c.name AS process,
  g.name AS repo, r.detail
  FROM requests r JOIN projects p ON p.id = r.project_id LEFT JOIN keys k ON k.id = r.key_id
  JOIN names e ON e.id = r.endpoint_id JOIN names v ON v.id = r.provider_id
  JOIN names m ON m.id = r.model_id JOIN names a ON a.id = r.asked_model_id
  JOIN names c ON c.id = r.process_id JOIN names g ON g.id = r.repo_id`;

const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[];
const FLAG_NAMES = Object.keys(FLAGS) as Flag[];

export interface RequestFilter {
  projectId?: number;
  keyId?: number;
  /** UTC milliseconds. */
  since?: number;
  /** Exclusive. */
  until?: number;
  /** The model that served the request, or that it asked for. */
  model?: string;
  outcome?: Outcome;
  /** HTTP status. */
  status?: number;
  /** Only requests with a higher id. */
  after?: RequestId;
  /** Only requests with a lower id. */
  before?: RequestId;
  limit?: number;
}

/** The newest requests that match, newest first. */
export async function listRequests(db: Db, filter: RequestFilter = {}): Promise<LoggedRequest[]> {
  const conditions: string[] = [];
  const values: (number | string)[] = [];
  const where = (condition: string, value: number | string | undefined) => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  where('r.project_id = ?', filter.projectId);
  where('r.key_id = ?', filter.keyId);
  where('r.id >= ?', filter.since === undefined ? undefined : requestIdAt(filter.since));
  where('r.id < ?', filter.until === undefined ? undefined : requestIdAt(filter.until));
  where('r.id > ?', filter.after);
  where('r.id < ?', filter.before);
  where('? IN (m.name, a.name)', filter.model);
  where('r.outcome = ?', filter.outcome === undefined ? undefined : OUTCOMES[filter.outcome]);
  where('r.status = ?', filter.status);
  const clause = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  return db
    .prepare<(number | string)[], Row>(`${SELECT} ${clause} ORDER BY r.id DESC LIMIT ?`)
    .all(...values, filter.limit ?? 50)
    .map(read);
}

/** One request by id; undefined if there is none, or it was pruned. */
export async function getRequest(db: Db, id: RequestId): Promise<LoggedRequest | undefined> {
  const row = db.prepare<[number], Row>(`${SELECT} WHERE r.id = ?`).get(id);
  return row && read(row);
}

function read({ outcome, flags, detail, ...row }: Row): LoggedRequest {
  return {
    ...row,
    timeMs: timeOfRequestId(row.id),
    outcome: OUTCOME_NAMES[outcome] ?? 'ok',
    flags: FLAG_NAMES.filter((name) => flags & FLAGS[name]),
    detail: detail === null ? {} : (JSON.parse(detail) as Record<string, unknown>),
  };
}
