import { type RequestId, requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { OUTCOMES, type Outcome, SOURCES, type Source } from '../ledger/record.ts';

/** Which requests to list; undefined fields match all. */
export interface RequestFilter {
  projectId?: number | undefined;
  keyId?: number | undefined;
  /** The model that served it, as `provider/model` or without the provider. */
  model?: string | undefined;
  agent?: string | undefined;
  /** The agent's own id of the session. */
  session?: string | undefined;
  /** The path of the git repository that it came from. */
  repo?: string | undefined;
  /** UTC milliseconds: from `since` on, and before `until`. */
  since?: number | undefined;
  until?: number | undefined;
  outcome?: Outcome | undefined;
  /** HTTP status. */
  status?: number | undefined;
  source?: Source | undefined;
  /** Only requests with a higher id, and with a lower one. */
  after?: RequestId | undefined;
  before?: RequestId | undefined;
  limit?: number | undefined;
}

const DEFAULT_LIMIT = 50;

/** The ids of the newest requests that match, newest first: those of the journal and of the archive. */
export function findRequests(db: Db, filter: RequestFilter): RequestId[] {
  const conditions = conditionsOf(db, filter);
  const where = ['TRUE', ...conditions].join(' AND ');
  const limit = filter.limit ?? DEFAULT_LIMIT;
  return db
    .prepare<[{ limit: number }], RequestId>(
      `SELECT id FROM (SELECT id FROM requests WHERE ${where} ORDER BY id DESC LIMIT @limit)
       UNION ALL SELECT id FROM (SELECT id FROM journal WHERE state > 0 AND ${where} ORDER BY id DESC LIMIT @limit)
       ORDER BY id DESC LIMIT @limit`,
    )
    .pluck()
    .all({ limit });
}

/** SQL conditions. All values are numbers written out: SQLite uses a partial index only if it sees the value. */
function conditionsOf(db: Db, filter: RequestFilter): string[] {
  const { projectId, keyId, status, outcome, source, since, until, after, before } = filter;
  const idOf = (name: string) =>
    db.prepare<[string], number>('SELECT id FROM names WHERE name = ?').pluck().get(name) ?? -1;
  const equals = (column: string, value: number | undefined) =>
    value === undefined ? [] : [`${column} = ${Math.trunc(value)}`];
  const named = (column: string, name: string | undefined) =>
    name === undefined ? [] : equals(column, idOf(name));
  const compared = (operator: string, id: number | undefined) =>
    id === undefined ? [] : [`id ${operator} ${Math.trunc(id)}`];
  return [
    ...equals('project_id', projectId),
    ...equals('key_id', keyId),
    ...equals('status', status),
    ...equals('outcome', outcome && OUTCOMES[outcome]),
    ...equals('source', source && SOURCES[source]),
    ...named('agent_id', filter.agent),
    ...named('repo_id', filter.repo),
    ...(filter.model === undefined ? [] : [modelCondition(db, filter.model)]),
    ...(filter.session === undefined ? [] : [sessionCondition(db, filter.session)]),
    ...compared('>=', since === undefined ? undefined : requestIdAt(since)),
    ...compared('<', until === undefined ? undefined : requestIdAt(until)),
    ...compared('>', after),
    ...compared('<', before),
  ];
}

/** A model's name may contain slashes, so its provider is looked for as well. */
function modelCondition(db: Db, model: string): string {
  const pairs = db
    .prepare<[string, string, string], { provider: number; model: number }>(
      `SELECT u.provider_id AS provider, u.model_id AS model
       FROM (SELECT provider_id, model_id FROM usage_dims UNION SELECT provider_id, model_id FROM journal) u
       JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id
       WHERE m.name = ? OR v.name || '/' || m.name = ? OR m.name = v.name || '/' || ?`,
    )
    .all(model, model, model);
  const each = pairs.map((pair) => `(model_id = ${pair.model} AND provider_id = ${pair.provider})`);
  return each.length === 0 ? 'FALSE' : `(${each.join(' OR ')})`;
}

function sessionCondition(db: Db, session: string): string {
  const ids = db.prepare<[string], number>('SELECT id FROM sessions WHERE external_id = ?').pluck();
  return `session_id IN (${ids.all(session).join(', ')}) AND session_id <> 0`;
}
