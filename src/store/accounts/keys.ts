import { notFound } from '../../errors.ts';
import { newApiKey, type Random, systemRandom } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';
import { hashKey } from './callers.ts';

export { hashKey } from './callers.ts';

export interface Key {
  id: number;
  project: string;
  admin: boolean;
  label: string | null;
  /** The key's last four characters. */
  hint: string;
  createdAt: number;
  revokedAt: number | null;
}

type Row = Omit<Key, 'admin'> & { admin: number };

interface NewKey {
  projectId: number;
  admin?: boolean;
  label?: string | null;
  now: number;
  random?: Random;
}

const SELECT = `SELECT k.id, p.name AS project, k.admin, k.label, k.hint, k.created_at AS createdAt,
  k.revoked_at AS revokedAt FROM keys k JOIN projects p ON p.id = k.project_id WHERE p.removed_at IS NULL`;

/** Makes a key. The key itself is returned once and never stored. */
export async function createKey(db: Db, options: NewKey): Promise<{ id: number; key: string }> {
  return changeConfiguration(db, () => insertKey(db, options));
}

/** Makes a key within a change of the configuration. */
export function insertKey(db: Db, options: NewKey): { id: number; key: string } {
  const { projectId, admin = false, label = null, now } = options;
  const key = newApiKey(options.random ?? systemRandom);
  const { lastInsertRowid } = db
    .prepare<[number, Buffer, string, string | null, number, number]>(
      'INSERT INTO keys (project_id, hash, hint, label, admin, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    )
    .run(projectId, hashKey(key), key.slice(-4), label, admin ? 1 : 0, now);
  return { id: Number(lastInsertRowid), key };
}

/** The keys of a project, or of all projects, including revoked ones. */
export async function listKeys(db: Db, projectId?: number): Promise<Key[]> {
  const rows =
    projectId === undefined
      ? db.prepare<[], Row>(`${SELECT} ORDER BY k.id`).all()
      : db.prepare<[number], Row>(`${SELECT} AND k.project_id = ? ORDER BY k.id`).all(projectId);
  return rows.map((row) => ({ ...row, admin: row.admin === 1 }));
}

/** Revokes a key, with effect from the next request. 404 for an unknown or revoked key. */
export async function revokeKey(db: Db, id: number, now: number): Promise<void> {
  const { changes } = changeConfiguration(db, () =>
    db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL').run(now, id),
  );
  if (changes === 0) throw notFound(`no live key with id ${id}. See: gw keys list`, 'key_not_found', 'id');
}
