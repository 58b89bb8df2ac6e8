import { labelName } from '../../labels.ts';
import type { Db } from '../database/open.ts';
import { labelValueSql, MODEL_NAME } from '../database/sql-parts.ts';
import { type EachKind, isEachKind, type LabelKind, matchesModel } from './terms.ts';

/** The requests that a budget counts; undefined fields match all. */
export interface CountedRequests {
  /** Ids; undefined: of all projects. */
  projectIds: readonly number[] | undefined;
  repo?: string | undefined;
  keyId?: number | undefined;
  agent?: string | undefined;
  session?: string | undefined;
  provider?: string | undefined;
  /** A pattern. */
  model?: string | undefined;
  label?: { name: string; value: string } | undefined;
  /** UTC milliseconds. */
  since: number;
}

/** What a budget for one thing counts; `keyId` is that of a key. */
export function countedBy(kind: string, value: string, keyId: number): Partial<CountedRequests> {
  const name = labelName(kind);
  if (name !== undefined) return { label: { name, value } };
  if (kind === 'key') return { keyId };
  return isEachKind(kind) ? { [kind]: value } : {};
}

/** SQL for requests that were served by a model of a pattern. */
function servedBy(db: Db, pattern: string): string {
  const pairs = db
    .prepare<[], { providerId: number; modelId: number; provider: string; model: string }>(`
      SELECT u.provider_id AS providerId, u.model_id AS modelId, v.name AS provider, m.name AS model
      FROM (SELECT provider_id, model_id FROM usage_dims UNION SELECT provider_id, model_id FROM journal) u
      JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id`)
    .all()
    .filter((served) => matchesModel(pattern, served));
  const ids = pairs.map(({ providerId, modelId }) => `(${providerId}, ${modelId})`);
  return ids.length === 0 ? 'FALSE' : `(provider_id, model_id) IN (VALUES ${ids.join(', ')})`;
}

type Parameters = Record<string, string | number>;

/** SQL for the requests that a budget counts, and its named parameters. */
export function countedConditions(
  db: Db,
  {
    projectIds,
    repo = '',
    keyId = 0,
    agent = '',
    session = '',
    provider = '',
    model,
    label,
  }: CountedRequests,
) {
  const ofProjects = projectIds ? `project_id IN (${projectIds.map(Number).join(', ')})` : 'TRUE';
  const where = [
    ofProjects,
    ...(repo === '' ? [] : ['repo_id = (SELECT id FROM names WHERE name = @repo)']),
    ...(keyId === 0 ? [] : ['key_id = @keyId']),
    ...(agent === '' ? [] : ['agent_id = (SELECT id FROM names WHERE name = @agent)']),
    ...(session === ''
      ? []
      : [`session_id IN (SELECT id FROM sessions WHERE external_id = @session AND ${ofProjects})`]),
    ...(provider === '' ? [] : ['provider_id = (SELECT id FROM names WHERE name = @provider)']),
    ...(model === undefined ? [] : [servedBy(db, model)]),
    ...(label === undefined
      ? []
      : [`labels_id IN (SELECT id FROM label_sets WHERE ${labelValueSql(label.name)} = @label)`]),
  ].join(' AND ');
  const parameters: Parameters = {
    repo,
    keyId,
    agent,
    session,
    provider,
    label: label?.value ?? '',
  };
  return { where, parameters };
}

/** SQL for the members of per-member caps. */
const MEMBERS: Record<Exclude<EachKind, LabelKind>, string> = {
  key: 'CAST(key_id AS TEXT)',
  provider: '(SELECT name FROM names WHERE id = provider_id)',
  model: `(SELECT ${MODEL_NAME} FROM names v, names m WHERE v.id = provider_id AND m.id = model_id)`,
  agent: '(SELECT name FROM names WHERE id = agent_id)',
  session: "coalesce((SELECT external_id FROM sessions WHERE id = session_id), '')",
};

/** SQL for the member of a per-member cap that counts a request; '' or '0': none. */
export function memberSql(kind: EachKind): string {
  const name = labelName(kind);
  if (name === undefined) return MEMBERS[kind as keyof typeof MEMBERS];
  return `coalesce((SELECT ${labelValueSql(name)} FROM label_sets WHERE id = labels_id), '')`;
}
