import { and, asc, eq, isNull } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { notFound } from '../../errors.ts';
import { newApiKey, type Random, systemRandom } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { keys, projects } from '../database/schema.ts';
import { changeConfiguration } from '../database/write.ts';
import { hashKey } from './callers.ts';

export { hashKey } from './callers.ts';

export interface Key {
  id: number;
  project: string;
  admin: boolean;
  label: string | null;
  /** The last four characters. */
  hint: string;
  createdAt: number;
  revokedAt: number | null;
}

/** Makes a key; the key itself is returned this once and stored nowhere. */
export async function createKey(
  db: Db,
  options: { projectId: number; admin?: boolean; label?: string | null; now: number; random?: Random },
): Promise<{ id: number; key: string }> {
  const key = newApiKey(options.random ?? systemRandom);
  const row = changeConfiguration(db, () =>
    drizzle(db)
      .insert(keys)
      .values({
        projectId: options.projectId,
        hash: hashKey(key),
        hint: key.slice(-4),
        label: options.label ?? null,
        admin: options.admin ?? false,
        createdAt: options.now,
      })
      .returning({ id: keys.id })
      .get(),
  );
  return { id: row.id, key };
}

/** The keys of a project, or all; revoked ones included. */
export async function listKeys(db: Db, projectId?: number): Promise<Key[]> {
  return drizzle(db)
    .select({
      id: keys.id,
      project: projects.name,
      admin: keys.admin,
      label: keys.label,
      hint: keys.hint,
      createdAt: keys.createdAt,
      revokedAt: keys.revokedAt,
    })
    .from(keys)
    .innerJoin(projects, eq(projects.id, keys.projectId))
    .where(
      and(isNull(projects.removedAt), projectId === undefined ? undefined : eq(keys.projectId, projectId)),
    )
    .orderBy(asc(keys.id))
    .all();
}

/** Revokes a key by id: it stops working with the next request. 404 if there is none, or it was revoked before. */
export async function revokeKey(db: Db, id: number, now: number): Promise<void> {
  const changed = changeConfiguration(db, () =>
    drizzle(db)
      .update(keys)
      .set({ revokedAt: now })
      .where(and(eq(keys.id, id), isNull(keys.revokedAt)))
      .run(),
  );
  if (changed.changes === 0)
    throw notFound(`no live key with id ${id}. See: gw keys list`, 'key_not_found', 'id');
}
