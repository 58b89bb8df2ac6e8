import { orElse } from '../../errors.ts';
import { requestIdAt } from '../../ids.ts';
import { remembered } from '../../json/grouped.ts';
import type { Db } from '../database/open.ts';
import { newestFrom } from '../database/sql-parts.ts';
import { OUTCOMES, SOURCES } from '../ledger/record.ts';

/** How a provider has answered in the last hour, and what keeps requests from it now. Times are UTC milliseconds. */
export interface ProviderHealth {
  provider: string;
  /** Calls of the provider: a request that failed over has several. */
  attempts: number;
  failedAttempts: number;
  lastSuccessAt: number | null;
  /** The last failed call: its HTTP status, 0 where none came, and what went wrong. */
  lastFailureAt: number | null;
  lastFailureStatus: number | null;
  lastFailure: string | null;
  /** The median time to the first byte. */
  firstByteMs: number | null;
  /** Where its failed calls went on, by how often. */
  failovers: { to: string; requests: number }[];
  /** Why requests are kept from it, as `breaker`, `auth` or `rate_limit`, and until when. */
  blocks: { because: string; until: number }[];
}

interface Row {
  timeMs: number;
  provider: string;
  status: number;
  outcome: number;
  firstByteMs: number | null;
  error: string | null;
  attempts: string | null;
}

const HOUR_MS = 3_600_000;
/** The newest requests that are read at most. */
const MAX_READ = 2_000;
const FAILURES: readonly number[] = [OUTCOMES.upstream_error, OUTCOMES.upstream_failed];
/** Errors that are the request's own fault: the provider is well. */
const REQUEST_FAULTS: readonly number[] = [400, 404, 405, 413, 415, 422];

/** Reads the health of all providers that were called within the last hour, or that are blocked. */
export function createProviderHealthReader(db: Db): (now: number, projectId?: number) => ProviderHealth[] {
  const select = db.prepare<{ first: number; from: number; project: number }, Row>(`
    SELECT r.at AS timeMs, v.name AS provider, r.status, r.outcome, r.first_byte_ms AS firstByteMs,
    json_extract(r.detail, '$.error') AS error, json_extract(r.detail, '$.attempts') AS attempts
    FROM (SELECT * FROM request_log WHERE id >= @first AND at >= @from AND id >= ${newestFrom(MAX_READ)}
      AND source = ${SOURCES.gw} AND provider_id <> 0
      AND (@project = 0 OR project_id = @project) ORDER BY id DESC LIMIT ${MAX_READ}) r
    JOIN names v ON v.id = r.provider_id ORDER BY r.id DESC`);
  const selectState = db.prepare<[], { savedAt: number; snapshot: string }>(
    'SELECT saved_at AS savedAt, snapshot FROM route_health WHERE id = 1',
  );

  return (now, project = 0) => {
    const byName = new Map<string, Gathered>();
    const of = (name: string) => remembered(byName, name, () => newHealth(name));
    const from = now - HOUR_MS;
    for (const row of select.all({ first: requestIdAt(from), from, project })) addRequest(of, row);
    const state = selectState.get();
    if (state) addBlocks(of, state, now);
    return [...byName.values()].map(finish).sort((a, b) => (a.provider < b.provider ? -1 : 1));
  };
}

interface Gathered {
  health: ProviderHealth;
  firstBytes: number[];
}

function newHealth(provider: string): Gathered {
  const none = { lastSuccessAt: null, lastFailureAt: null, lastFailureStatus: null, lastFailure: null };
  const lists = { failovers: [], blocks: [] };
  return {
    health: { provider, attempts: 0, failedAttempts: 0, ...none, firstByteMs: null, ...lists },
    firstBytes: [],
  };
}

/** Rows come newest first, so the first of a kind is the last that happened. */
function addRequest(of: (name: string) => Gathered, row: Row): void {
  const { timeMs } = row;
  const tried = attemptsIn(row.attempts);
  tried.slice(0, -1).forEach(({ provider, outcome }, i) => {
    const { health } = of(provider);
    addFailure(health, { timeMs, status: Number(outcome) || 0, what: outcome });
    const to = tried[i + 1]?.provider;
    if (to === undefined || to === provider) return;
    const known = health.failovers.find((each) => each.to === to);
    if (known) known.requests += 1;
    else health.failovers.push({ to, requests: 1 });
  });
  const { health, firstBytes } = of(row.provider);
  if (FAILURES.includes(row.outcome) && !REQUEST_FAULTS.includes(row.status)) {
    addFailure(health, {
      timeMs,
      status: row.outcome === OUTCOMES.upstream_error ? row.status : 0,
      what: row.error ?? '',
    });
  } else if (
    row.outcome === OUTCOMES.ok ||
    row.outcome === OUTCOMES.capped ||
    FAILURES.includes(row.outcome)
  ) {
    health.attempts += 1;
    health.lastSuccessAt ??= timeMs;
    if (row.firstByteMs !== null && tried.length === 0) firstBytes.push(row.firstByteMs);
  }
}

function addFailure(
  health: ProviderHealth,
  { timeMs, status, what }: { timeMs: number; status: number; what: string },
): void {
  health.attempts += 1;
  health.failedAttempts += 1;
  if (health.lastFailureAt !== null) return;
  Object.assign(health, { lastFailureAt: timeMs, lastFailureStatus: status, lastFailure: what });
}

function attemptsIn(text: string | null): { provider: string; outcome: string }[] {
  const list: unknown = text === null ? [] : JSON.parse(text);
  if (!Array.isArray(list)) return [];
  return list.map((each) => ({ provider: String(each?.provider), outcome: String(each?.outcome) }));
}

/** The blocks in the router's last snapshot that have not ended. Its shape is routing/health.ts. */
function addBlocks(
  of: (name: string) => Gathered,
  { savedAt, snapshot }: { savedAt: number; snapshot: string },
  now: number,
): void {
  const { blocks = [], targets = [] } = parsed(snapshot);
  const all = [
    ...blocks.map(({ id, because, leftMs }) => ({ id, because, until: savedAt + leftMs })),
    ...targets.map(({ id, openLeftMs }) => ({ id, because: 'breaker', until: savedAt + openLeftMs })),
  ];
  for (const { id, because, until } of all) {
    // A closed breaker is saved with nothing left.
    if (until <= now || until <= savedAt) continue;
    // Ids are such as `target:openai/KEY/gpt-4o` and `account:openai`.
    const provider = id.slice(id.indexOf(':') + 1).split('/', 1)[0] ?? '';
    const { health } = of(provider);
    const same = health.blocks.find((each) => each.because === because);
    if (same) same.until = Math.max(same.until, until);
    else health.blocks.push({ because, until });
  }
}

interface Snapshot {
  blocks?: { id: string; because: string; leftMs: number }[];
  targets?: { id: string; openLeftMs: number }[];
}

function parsed(text: string): Snapshot {
  return orElse(() => JSON.parse(text) as Snapshot, {});
}

function finish({ health, firstBytes }: Gathered): ProviderHealth {
  firstBytes.sort((a, b) => a - b);
  health.firstByteMs = firstBytes[Math.floor((firstBytes.length - 1) / 2)] ?? null;
  health.failovers.sort((a, b) => b.requests - a.requests);
  return health;
}
