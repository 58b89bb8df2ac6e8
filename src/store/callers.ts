import type { Db } from './open.ts';
import type { Plan } from './projects.ts';

/** Who a key belongs to. */
export interface Caller {
  keyId: number;
  projectId: number;
  project: string;
  plan: Plan;
  admin: boolean;
  paused: boolean;
}

interface Row extends Omit<Caller, 'admin' | 'paused'> {
  admin: number;
  pausedAt: number | null;
}

/** Looks callers up by the hash of their key; undefined for an unknown or revoked key or a removed project. */
export function createCallerLookup(db: Db): (keyHash: Buffer) => Caller | undefined {
  const select = db.prepare<[Buffer], Row>(
    `SELECT k.id AS keyId, k.project_id AS projectId, p.name AS project, p.plan, k.admin, p.paused_at AS pausedAt
     FROM keys k JOIN projects p ON p.id = k.project_id
     WHERE k.hash = ? AND k.revoked_at IS NULL AND p.removed_at IS NULL`,
  );
  return (keyHash) => {
    const row = select.get(keyHash);
    if (!row) return undefined;
    const { admin, pausedAt, ...caller } = row;
    return { ...caller, admin: admin === 1, paused: pausedAt !== null };
  };
}
