import { type RequestId, requestIdAt } from '../../ids.ts';
import type { Labels } from '../../labels.ts';
import type { Db } from '../database/open.ts';
import { idsBefore, labelValueSql } from '../database/sql-parts.ts';
import { FLAGS, OUTCOMES, type Outcome, SOURCES, type Source } from '../ledger/record.ts';

/** Which requests to list; undefined fields match all. */
export interface RequestFilter {
  projectId?: number | undefined;
  keyIds?: readonly number[] | undefined;
  /** The model that served it, as `provider/model` or without the provider, or that it asked for. */
  model?: string | undefined;
  agent?: string | undefined;
  /** The agent's own id of the session. */
  session?: string | undefined;
  /** The path of the git repository that it came from. */
  repo?: string | undefined;
  /** Those that have all of these labels. */
  labels?: Labels | undefined;
  /** UTC milliseconds: from `since` on, and before `until`. */
  since?: number | undefined;
  until?: number | undefined;
  outcomes?: readonly Outcome[] | undefined;
  /** Only those that a budget sent to a cheaper model. */
  isFallback?: boolean | undefined;
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
  const shared = ['TRUE', ...sharedConditions(db, filter)].join(' AND ');
  const models: ModelCondition[] =
    filter.model === undefined ? [{ sql: 'TRUE' }] : modelConditions(db, filter.model);
  // Each has an index of its own, in the order of ids: with OR, SQLite would sort all that match.
  const pages = models.flatMap(({ sql, index }) => {
    const named = filter.session === undefined ? index : 'requests_of_session';
    return [`requests ${named ? `INDEXED BY ${named}` : ''} WHERE TRUE`, 'journal WHERE state > 0'].map(
      (from) =>
        `SELECT id FROM (SELECT id FROM ${from} AND ${shared} AND ${sql} ORDER BY id DESC LIMIT @limit)`,
    );
  });
  return db
    .prepare<[{ limit: number }], RequestId>(`${pages.join(' UNION ')} ORDER BY id DESC LIMIT @limit`)
    .pluck()
    .all({ limit: filter.limit ?? DEFAULT_LIMIT });
}

/** SQL conditions, with numbers written out. */
export function conditionsOf(db: Db, filter: RequestFilter): string[] {
  const { model } = filter;
  if (model === undefined) return sharedConditions(db, filter);
  const pairs = servedModels(db, model).map((sql) => `(${sql})`);
  return [...sharedConditions(db, filter), pairs.length === 0 ? 'FALSE' : `(${pairs.join(' OR ')})`];
}

/** All of them but the model's. */
function sharedConditions(db: Db, filter: RequestFilter): string[] {
  const { projectId, status, outcomes, source, since, until, after, before } = filter;
  const idOf = (name: string) =>
    db.prepare<[string], number>('SELECT id FROM names WHERE name = ?').pluck().get(name) ?? -1;
  const equals = (column: string, value: number | undefined) =>
    value === undefined ? [] : [`${column} = ${Math.trunc(value)}`];
  /** With the condition of its partial index, which SQLite does not conclude from the value. */
  const equalsRare = (column: string, value: number | undefined, usual: number) => [
    ...equals(column, value),
    ...(value === undefined || value === usual ? [] : [`${column} <> ${usual}`]),
  ];
  const among = (column: string, values: readonly number[] | undefined) =>
    values?.length === 1 ? equals(column, values[0]) : values ? [`${column} IN (${values.join(', ')})`] : [];
  const named = (column: string, name: string | undefined) =>
    equalsRare(column, name === undefined ? undefined : idOf(name), 0);
  const compared = (operator: string, id: number | undefined) =>
    id === undefined ? [] : [`id ${operator} ${Math.trunc(id)}`];
  return [
    ...equals('project_id', projectId),
    ...among('key_id', filter.keyIds),
    ...equalsRare('status', status, 200),
    ...(outcomes?.length === 1
      ? equalsRare('outcome', outcomes[0] && OUTCOMES[outcomes[0]], OUTCOMES.ok)
      : among(
          'outcome',
          outcomes?.map((outcome) => OUTCOMES[outcome]),
        )),
    // As its partial index has it.
    ...(filter.isFallback ? [`flags & ${FLAGS.fallback}`] : []),
    ...equals('source', source && SOURCES[source]),
    ...named('agent_id', filter.agent),
    ...named('repo_id', filter.repo),
    ...(filter.session === undefined ? [] : [sessionCondition(db, filter.session)]),
    ...(filter.labels === undefined ? [] : [labelsCondition(db, filter.labels)]),
    ...(since === undefined ? [] : [`id >= ${requestIdAt(since)} AND at >= ${Math.ceil(since)}`]),
    ...(until === undefined ? [] : [`id < ${idsBefore(until)} AND at < ${Math.ceil(until)}`]),
    ...compared('>', after),
    ...compared('<', before),
  ];
}

interface ModelCondition {
  sql: string;
  /** The index to use, where SQLite would take one with far more rows: it knows no sizes. */
  index?: string;
}

/** The models that served under a name, and that requests asked for. */
function modelConditions(db: Db, model: string): ModelCondition[] {
  const asked = db.prepare<[string], number>('SELECT id FROM names WHERE name = ?').pluck().get(model) ?? -1;
  return [
    ...servedModels(db, model).map((sql) => ({ sql })),
    { sql: `asked_model_id = ${asked} AND asked_model_id <> model_id`, index: 'requests_of_asked_model' },
  ];
}

/**
 * A condition for each model that a name can mean. It may contain slashes, so providers are looked for as well. Only names
 * are searched: there are far fewer of them than rows of usage.
 */
function servedModels(db: Db, model: string): string[] {
  const pairs = db
    .prepare<{ model: string }, { provider: number | null; model: number }>(`
      SELECT NULL AS provider, id AS model FROM names WHERE name = @model
      UNION SELECT v.id, m.id FROM names v CROSS JOIN names m ON m.name = substr(@model, length(v.name) + 2)
        WHERE substr(@model, 1, length(v.name) + 1) = v.name || '/'
      UNION SELECT v.id, m.id FROM names m CROSS JOIN names v
        ON v.name = substr(m.name, 1, length(m.name) - length(@model) - 1)
        WHERE substr(m.name, -length(@model) - 1) = '/' || @model`)
    .all({ model });
  return pairs.map(
    (pair) =>
      `model_id = ${pair.model}${pair.provider === null ? '' : ` AND provider_id = ${pair.provider}`}`,
  );
}

function sessionCondition(db: Db, session: string): string {
  const ids = db
    .prepare<[string], number>('SELECT id FROM sessions WHERE external_id = ?')
    .pluck()
    .all(session);
  return `session_id IN (${ids.length === 0 ? -1 : ids.join(', ')}) AND session_id <> 0`;
}

function labelsCondition(db: Db, labels: Labels): string {
  const where = [...labels.keys()].map((name) => `${labelValueSql(name)} = ?`).join(' AND ');
  const ids = db
    .prepare<string[], number>(`SELECT id FROM label_sets WHERE ${where}`)
    .pluck()
    .all(...labels.values());
  return `labels_id IN (${ids.length === 0 ? -1 : ids.join(', ')}) AND labels_id <> 0`;
}
