import { formatRequestId, type RequestId } from '../../ids.ts';
import { usdNumber } from '../../money.ts';
import { byColumnName, columnName, columnsAs, type Row as TableRow } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { type Flag, flagsOf, type Outcome, outcomeOf, SOURCES, type Source } from '../ledger/record.ts';
import { shownAs } from '../ledger/request-columns.ts';
import { MISS_COLUMNS, missResponse, NEED_COLUMNS, needDetail } from './detail-columns.ts';
import { findRequests, type RequestFilter } from './find-requests.ts';

export type { RequestFilter } from './find-requests.ts';

/** Fields that are names. Those of the program, its repository, the agent and its version are '' where they aren't known. */
const NAMES = [
  'endpoint',
  'provider',
  'model',
  'askedModel',
  'process',
  'repo',
  'agent',
  'agentVersion',
] as const;
/** Fields that are columns. */
const PLAIN = [
  ...(['status', 'costNanoUsd', 'savedNanoUsd', 'holdNanoUsd', 'upstreamMessageId'] as const),
  ...shownAs('count', 'ms', 'msOrNull'),
];
/** Columns that other fields are made of. */
const RAW = [
  ...(['outcome', 'flags', 'source', 'bodyUs', 'compressedUs', 'heldUs', 'sentUs', 'settledMs'] as const),
  ...(['folded', 'foldedMs', 'detail'] as const),
  ...MISS_COLUMNS,
  ...NEED_COLUMNS,
];

/** Fields that come from other tables, by their SQL. The session is the agent's own id of it; labels are JSON. */
const JOINED = {
  timeMs: 'r.at',
  project: 'p.name',
  keyHint: "coalesce(k.hint, '')",
  session: "coalesce(s.external_id, '')",
  labels: "coalesce(l.labels, '')",
};

type Same = Pick<TableRow<'journal'>, 'id' | (typeof PLAIN)[number]> &
  Record<(typeof NAMES)[number] | 'project' | 'keyHint' | 'session' | 'labels', string> & { timeMs: number };
type Row = Same & Pick<TableRow<'journal'>, (typeof RAW)[number]>;

/** A request record as it is read back. */
export interface LoggedRequest extends Same {
  outcome: Outcome;
  flags: Flag[];
  source: Source;
  /** UTC milliseconds; null where nothing was held, or it isn't known. */
  heldAt: number | null;
  settledAt: number | null;
  /** When stages ended, in milliseconds after the request came in; null if it didn't reach the stage. */
  timings: Record<'body_ms' | 'compressed_ms' | 'held_ms' | 'sent_ms', number | null>;
  /** The refusals that the record stands for, if there are several, and when the last of them was refused. */
  folded?: { count: number; lastAt: number };
  detail: Record<string, unknown>;
}

const SAME = ['id', ...(Object.keys(JOINED) as (keyof typeof JOINED)[]), ...NAMES, ...PLAIN] as const;
const SELECT = `SELECT ${columnsAs(['id', ...PLAIN, ...RAW], 'r')},
  ${Object.entries(JOINED).map(([field, sql]) => `${sql} AS ${field}`)}, ${NAMES.map((field) => `${field}_name.name AS ${field}`)}
  FROM request_log r JOIN projects p ON p.id = r.project_id LEFT JOIN keys k ON k.id = r.key_id
  LEFT JOIN sessions s ON s.id = r.session_id LEFT JOIN label_sets l ON l.id = r.labels_id
  ${NAMES.map((field) => `JOIN names ${field}_name ON ${field}_name.id = r.${columnName(field)}_id`).join(' ')} WHERE r.id = ?`;

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
  const { timeMs, outcome, flags, source, settledMs, heldUs, folded, foldedMs } = row;
  const recorded = row.detail === null ? undefined : (JSON.parse(row.detail) as Record<string, unknown>);
  const ms = (us: number | null) => (us === null ? null : us / 1_000);
  return {
    ...(Object.fromEntries(SAME.map((name) => [name, row[name]])) as unknown as Same),
    outcome: outcomeOf(outcome),
    flags: flagsOf(flags),
    source: SOURCE_NAMES[source] ?? 'gw',
    heldAt: heldUs === null ? null : Math.round(timeMs + heldUs / 1_000),
    settledAt: settledMs === null ? null : timeMs + settledMs,
    timings: {
      body_ms: ms(row.bodyUs),
      compressed_ms: ms(row.compressedUs),
      held_ms: ms(heldUs),
      sent_ms: ms(row.sentUs),
    },
    ...(folded === 0 ? {} : { folded: { count: 1 + folded, lastAt: timeMs + (foldedMs ?? 0) } }),
    detail: {
      ...recorded,
      ...(row.missedTokens !== 0 && { cache_miss: missResponse(row, recorded) }),
      ...needDetail(row),
    },
  };
}

const COUNTS = shownAs('count');
const DURATIONS = shownAs('ms');
const OPTIONAL_DURATIONS = shownAs('msOrNull');

/** A record as `gw requests --json` returns it; `GET /v1/requests/{id}` leaves out the amounts in nano-USD. */
export function requestResponse(request: LoggedRequest) {
  return {
    object: 'request' as const,
    id: formatRequestId(request.id),
    created_at: new Date(request.timeMs).toISOString(),
    project_id: request.project,
    endpoint: request.endpoint,
    provider: request.provider,
    model: request.model,
    asked_model: request.askedModel,
    fallback_from: (request.detail.fallback_from as string | undefined) ?? null,
    status: request.status,
    outcome: request.outcome,
    ...(request.folded && {
      count: request.folded.count,
      last_at: new Date(request.folded.lastAt).toISOString(),
    }),
    flags: request.flags,
    ...byColumnName(COUNTS, (name) => request[name]),
    cost_usd: request.flags.includes('unpriced') ? null : usdNumber(request.costNanoUsd),
    saved_usd: usdNumber(request.savedNanoUsd),
    held_usd: usdNumber(request.holdNanoUsd),
    cost_nano_usd: request.costNanoUsd,
    saved_nano_usd: request.savedNanoUsd,
    held_nano_usd: request.holdNanoUsd,
    ...byColumnName(DURATIONS, (name) => request[name]),
    ...byColumnName(OPTIONAL_DURATIONS, (name) => request[name]),
    process: request.process || null,
    repo: request.repo || null,
    key_hint: request.keyHint || null,
    agent: request.agent || null,
    agent_version: request.agentVersion || null,
    session_id: request.session || null,
    labels: request.labels === '' ? null : (JSON.parse(request.labels) as Record<string, string>),
    source: request.source,
    held_at: timeOf(request.heldAt),
    settled_at: timeOf(request.settledAt),
    timings: request.timings,
    upstream_message_id: request.upstreamMessageId,
    detail: request.detail,
  };
}

const timeOf = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();
