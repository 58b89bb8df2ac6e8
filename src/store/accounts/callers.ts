import { hash } from 'node:crypto';
import { type Labels, labelsOf } from '../../labels.ts';
import type { Db } from '../database/open.ts';
import type { Plan } from './projects.ts';

/** The owner of an API key. */
export interface Caller {
  keyId: number;
  projectId: number;
  project: string;
  plan: Plan;
  admin: boolean;
  paused: boolean;
  /** There is a budget for this key alone, such as a run's, or for each key. */
  hasBudget: boolean;
  /** The key is refused from then on, UTC milliseconds; null: never. */
  expiresAt: number | null;
  /** The models that it may name; null: all. */
  models: readonly string[] | null;
  /** Labels of its requests; null: none. */
  labels: Labels | null;
  /** Requests that it may make in a minute; null: any number. */
  rpm: number | null;
  /** The key is a copy of the team's, good for as long as the team can be asked about it. */
  isTeam: boolean;
}

interface Row extends Omit<Caller, 'admin' | 'paused' | 'hasBudget' | 'models' | 'labels' | 'isTeam'> {
  admin: number;
  hasBudget: number;
  pausedAt: number | null;
  models: string | null;
  labels: string | null;
  teamKeyId: number | null;
}

/** The hash by which a key is stored and looked up. */
export const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer');

/**
 * Finds a caller by the hash of its key, or of the one that it replaced: that expires when their overlap ends. Undefined
 * for an unknown or revoked key, or a removed project.
 */
export function createCallerLookup(db: Db): (keyHash: Buffer) => Caller | undefined {
  const select = db.prepare<{ hash: Buffer }, Row>(`
    SELECT k.id AS keyId, k.project_id AS projectId, p.name AS project, p.plan, k.admin, p.paused_at AS pausedAt,
    k.models, k.labels, k.rpm, k.team_key_id AS teamKeyId, iif(k.hash = @hash, k.expires_at, min(k.old_until, coalesce(k.expires_at, k.old_until))) AS expiresAt,
    EXISTS (SELECT 1 FROM budgets b WHERE (b.project_id = p.id OR b.projects <> '') AND b.removed_at IS NULL AND b.parent_id = 0
      AND (b.key_id = k.id OR (b.scope_kind = 'each' AND b.scope_value = 'key'))) AS hasBudget
    FROM keys k JOIN projects p ON p.id = k.project_id
    WHERE (k.hash = @hash OR k.old_hash = @hash) AND k.revoked_at IS NULL AND p.removed_at IS NULL`);
  return (keyHash) => {
    const row = select.get({ hash: keyHash });
    if (!row) return undefined;
    const { admin, pausedAt, hasBudget, models, labels, teamKeyId, ...caller } = row;
    return {
      ...caller,
      admin: admin === 1,
      paused: pausedAt !== null,
      hasBudget: hasBudget === 1,
      models: models === null ? null : (JSON.parse(models) as string[]),
      labels: labels === null ? null : labelsOf(labels),
      isTeam: teamKeyId !== null,
    };
  };
}

/** Finds a project that is not removed, by its name in any letter case. */
export function createProjectLookup(
  db: Db,
): (name: string) => { id: number; name: string; paused: boolean } | undefined {
  const select = db.prepare<[string], { id: number; name: string; pausedAt: number | null }>(
    'SELECT id, name, paused_at AS pausedAt FROM projects WHERE name = ? AND removed_at IS NULL',
  );
  return (name) => {
    const row = select.get(name);
    return row && { id: row.id, name: row.name, paused: row.pausedAt !== null };
  };
}

/** Whether a project has a budget of a period, for `repo`; empty for the budget of the whole project. */
export function createBudgetLookup(db: Db): (projectId: number, period: string, repo: string) => boolean {
  const select = db.prepare<[number, string, string]>(`SELECT 1 FROM budgets WHERE project_id = ?
    AND period = ? AND repo = ? AND scope_kind = '' AND projects = '' AND removed_at IS NULL`);
  return (projectId, period, repo) => select.get(projectId, period, repo) !== undefined;
}

/** Whether there is a budget of any kind. */
export function createAnyBudgetLookup(db: Db): () => boolean {
  const select = db.prepare('SELECT 1 FROM budgets WHERE removed_at IS NULL LIMIT 1');
  return () => select.get() !== undefined;
}
