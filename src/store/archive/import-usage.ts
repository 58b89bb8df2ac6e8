import type { NanoUsd } from '../../money.ts';
import type { TokenUsage } from '../../usage.ts';
import { oldestRecordAt } from '../database/daemons.ts';
import { createNames } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import { bucketOf } from '../database/usage-bucket.ts';
import { inTransaction } from '../database/write.ts';
import { createSessions } from '../ledger/journal.ts';
import { SOURCES } from '../ledger/record.ts';
import { createUsageRows, DIMS } from './rollups.ts';
import { COUNTERS, type Counter } from './usage-sums.ts';

/** A model call that an agent logged and that did not come through gw. */
export interface ImportedCall {
  /** Identifies the call in the agent's logs. */
  key: string;
  agent: string;
  agentVersion: string;
  session: string;
  repo: string;
  /** '' if unknown. */
  provider: string;
  model: string;
  /** UTC milliseconds. */
  at: number;
  usage: TokenUsage;
  /** Undefined: its price is unknown. */
  costNanoUsd: NanoUsd | undefined;
}

/** Calls written in one transaction: about 5 ms, which requests of a running daemon wait for. */
const BATCH = 500;

/**
 * Adds calls to the usage of a project, marked as imported. No budget and no other report counts them. Returns those that
 * were new. `onProgress` gets the number of calls that are done.
 */
export async function importUsage(
  db: Db,
  calls: readonly ImportedCall[],
  { projectId, onProgress }: { projectId: number; onProgress?: (done: number) => void },
): Promise<ImportedCall[]> {
  const added: ImportedCall[] = [];
  for (let start = 0; start < calls.length; start += BATCH) {
    const batch = calls.slice(start, start + BATCH);
    added.push(...inTransaction(db, () => importBatch(db, batch, projectId)));
    onProgress?.(start + batch.length);
    // A running daemon may write in between.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return added;
}

/** Those of the calls that are not imported yet. */
export function notImported(db: Db, calls: readonly ImportedCall[]): ImportedCall[] {
  const select = db
    .prepare<[string, string], number>(`SELECT 1 FROM imported_calls WHERE agent_id = (SELECT id FROM names
      WHERE name = ?) AND call = ?`)
    .pluck();
  return calls.filter(({ agent, key }) => select.get(agent, key) === undefined);
}

interface UsageRow {
  at: number;
  dims: number[];
  counts: number[];
}

/** As `importUsage`, for a few calls within a write transaction. */
export function importBatch(db: Db, calls: readonly ImportedCall[], projectId: number): ImportedCall[] {
  const names = createNames(db);
  const sessions = createSessions(db);
  const addToSession = createSessionRows(db);
  /** Sessions that gw has not seen are added without times: only `imported_sessions` has some. */
  const sessionOf = (call: ImportedCall, agentId: number, repoId: number) => {
    const agentVersionId = names.idOf(call.agentVersion);
    if (call.session === '') return 0;
    return sessions.idOf(call.session, { at: 0, projectId }, { agentId, agentVersionId, repoId });
  };
  const markImported = db.prepare<[number, string]>(`INSERT INTO imported_calls (agent_id, call) VALUES (?, ?)
    ON CONFLICT DO NOTHING`);
  const rows = new Map<string, UsageRow>();
  const added = calls.filter((call) => {
    const agent_id = names.idOf(call.agent);
    if (markImported.run(agent_id, call.key).changes === 0) return false;
    const repo_id = names.idOf(call.repo);
    const columns = {
      source: SOURCES.imported,
      project_id: projectId,
      provider_id: names.idOf(call.provider),
      model_id: names.idOf(call.model),
      key_id: 0,
      agent_id,
      repo_id,
      process_id: 0,
      session_id: sessionOf(call, agent_id, repo_id),
      labels_id: 0,
    };
    addTo(rows, call, columns);
    if (columns.session_id !== 0) addToSession(columns.session_id, call);
    return true;
  });
  const usage = createUsageRows(db);
  for (const { at, dims, counts } of rows.values()) usage.add(at, dims, counts);
  return added;
}

const SESSION_COUNTERS = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'cost_nano_usd',
] as const satisfies Counter[];

/** Returns a function that adds a call to the imported figures of its session. */
function createSessionRows(db: Db): (sessionId: number, call: ImportedCall) => void {
  const upsert = db.prepare<number[]>(`
    INSERT INTO imported_sessions (session_id, first_at, last_at, ${SESSION_COUNTERS.join(', ')})
    VALUES (?, ?, ?, ${SESSION_COUNTERS.map(() => '?').join(', ')})
    ON CONFLICT DO UPDATE SET first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
      ${SESSION_COUNTERS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`);
  return (sessionId, call) => {
    const counters = countersOf(call);
    upsert.run(sessionId, call.at, call.at, ...SESSION_COUNTERS.map((name) => counters[name] ?? 0));
  };
}

function addTo(
  rows: Map<string, UsageRow>,
  call: ImportedCall,
  columns: Record<(typeof DIMS)[number], number>,
): void {
  const dims = DIMS.map((name) => columns[name]);
  const counters = countersOf(call);
  const counts = COUNTERS.map((name) => counters[name] ?? 0);
  const key = `${bucketOf(call.at)} ${dims.join(' ')}`;
  const row = rows.get(key);
  if (row) row.counts = row.counts.map((count, i) => count + (counts[i] ?? 0));
  else rows.set(key, { at: call.at, dims, counts });
}

function countersOf({ usage, costNanoUsd }: ImportedCall): Partial<Record<Counter, number>> {
  return {
    requests: 1,
    unpriced_requests: costNanoUsd === undefined ? 1 : 0,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    cost_nano_usd: costNanoUsd ?? 0,
  };
}

const HOUR_MS = 3_600_000;

/** Returns a check whether gw counted usage of a session in the hour of a time, and has pruned its records. */
export function readForgottenUsage(db: Db): (session: string, at: number) => boolean {
  const until = oldestRecordAt(db) ?? Number.MAX_SAFE_INTEGER;
  const found = db
    .prepare<[number, number], { session: string; bucket: number }>(`
      SELECT DISTINCT s.external_id AS session, h.bucket FROM hourly_usage h JOIN sessions s ON s.id = h.session_id
      WHERE h.source = ? AND h.bucket < ?`)
    .all(SOURCES.gw, until);
  const hours = new Set(found.map(({ session, bucket }) => `${session} ${bucket}`));
  // A call is logged when it ends, and recorded under the time of its start.
  return (session, at) =>
    at < until && [at, at - HOUR_MS].some((time) => hours.has(`${session} ${bucketOf(time)}`));
}
