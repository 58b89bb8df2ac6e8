import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { FLAGS, type Flag, OUTCOMES, type Outcome, SOURCES, type Source } from '../ledger/record.ts';
import { findRequests, type RequestFilter } from './find-requests.ts';
import { MISS_COLUMNS, type MissColumns, missDetail, withoutMiss } from './miss-columns.ts';
import { NEED_COLUMNS, type NeedColumns, needDetail, withoutNeed } from './need-columns.ts';

export type { RequestFilter } from './find-requests.ts';

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
  /** The agent, its version and its own id of the session; '' where they aren't known. */
  agent: string;
  agentVersion: string;
  session: string;
  source: Source;
  /** UTC milliseconds; null where nothing was held, or it isn't known. */
  heldAt: number | null;
  settledAt: number | null;
  timings: Timings;
  /** The refusals that the record stands for, if there are several, and when the last of them was refused. */
  folded?: { count: number; lastAt: number };
  upstreamMessageId: string | null;
  detail: Record<string, unknown>;
}

/** When stages ended, in milliseconds after the request came in; null where it didn't reach the stage. */
interface Timings {
  body: number | null;
  compressed: number | null;
  held: number | null;
  sent: number | null;
}

type Derived = 'outcome' | 'flags' | 'source' | 'heldAt' | 'settledAt' | 'timings' | 'folded' | 'detail';

interface Row extends Omit<LoggedRequest, Derived>, NeedColumns, MissColumns {
  outcome: number;
  flags: number;
  source: number;
  bodyUs: number | null;
  compressedUs: number | null;
  heldUs: number | null;
  sentUs: number | null;
  settledMs: number | null;
  folded: number;
  foldedMs: number | null;
  detail: string | null;
}

const SELECT = `SELECT r.id, r.at AS timeMs, p.name AS project, coalesce(k.hint, '') AS keyHint, e.name AS endpoint, v.name AS provider,
  m.name AS model, a.name AS askedModel, r.status, r.outcome, r.flags, r.input_tokens AS inputTokens,
  r.cached_input_tokens AS cachedInputTokens, r.cache_write_tokens AS cacheWriteTokens,
  r.output_tokens AS outputTokens, r.reasoning_tokens AS reasoningTokens, r.saved_tokens AS savedTokens,
  r.cost_nano_usd AS costNanoUsd, r.saved_nano_usd AS savedNanoUsd, r.hold_nano_usd AS holdNanoUsd,
  r.duration_ms AS durationMs, r.first_byte_ms AS firstByteMs, c.name AS process,
  g.name AS repo, t.name AS agent, w.name AS agentVersion, coalesce(s.external_id, '') AS session, r.source,
  r.body_us AS bodyUs, r.compressed_us AS compressedUs, r.held_us AS heldUs, r.sent_us AS sentUs,
  r.settled_ms AS settledMs, r.folded, r.folded_ms AS foldedMs, r.upstream_message_id AS upstreamMessageId, r.detail, ${MISS_COLUMNS}, ${NEED_COLUMNS}
  FROM request_log r JOIN projects p ON p.id = r.project_id LEFT JOIN keys k ON k.id = r.key_id
  JOIN names e ON e.id = r.endpoint_id JOIN names v ON v.id = r.provider_id
  JOIN names m ON m.id = r.model_id JOIN names a ON a.id = r.asked_model_id
  JOIN names c ON c.id = r.process_id JOIN names g ON g.id = r.repo_id
  JOIN names t ON t.id = r.agent_id JOIN names w ON w.id = r.agent_version_id
  LEFT JOIN sessions s ON s.id = r.session_id WHERE r.id = ?`;

const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[];
const FLAG_NAMES = Object.keys(FLAGS) as Flag[];
const SOURCE_NAMES = Object.keys(SOURCES) as Source[];

/** One request by id; undefined if there is none, or it was pruned. */
export async function getRequest(db: Db, id: RequestId): Promise<LoggedRequest | undefined> {
  const row = db.prepare<[number], Row>(SELECT).get(id);
  return row && read(row);
}

/** The newest requests that match, newest first. */
export async function listRequests(db: Db, filter: RequestFilter = {}): Promise<LoggedRequest[]> {
  const select = db.prepare<[number], Row>(SELECT);
  const page = db.transaction(() => findRequests(db, filter).map((id) => select.get(id)));
  return page().flatMap((row) => (row ? [read(row)] : []));
}

function read(row: Row): LoggedRequest {
  const { timeMs } = row;
  const { outcome, flags, source, bodyUs, compressedUs, heldUs, sentUs, settledMs, ...others } = row;
  const { folded, foldedMs, detail, ...rest } = others;
  const recorded = detail === null ? undefined : (JSON.parse(detail) as Record<string, unknown>);
  const ms = (us: number | null) => (us === null ? null : us / 1_000);
  return {
    ...withoutMiss(withoutNeed(rest)),
    outcome: OUTCOME_NAMES[outcome] ?? 'ok',
    flags: FLAG_NAMES.filter((name) => flags & FLAGS[name]),
    source: SOURCE_NAMES[source] ?? 'gw',
    heldAt: heldUs === null ? null : Math.round(timeMs + heldUs / 1_000),
    settledAt: settledMs === null ? null : timeMs + settledMs,
    timings: { body: ms(bodyUs), compressed: ms(compressedUs), held: ms(heldUs), sent: ms(sentUs) },
    ...(folded === 0 ? {} : { folded: { count: 1 + folded, lastAt: timeMs + (foldedMs ?? 0) } }),
    detail: {
      ...recorded,
      ...missDetail(rest, recorded),
      ...needDetail(rest),
    },
  };
}
