import { notFound } from '../../errors.ts';
import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';

/** For whom the rest of each window is kept. */
export type LimitGuard = Row<'limitGuards'>;
export type GuardedKind = LimitGuard['kind'];

export const listGuards = (db: Db): LimitGuard[] =>
  db
    .prepare<[], Omit<LimitGuard, 'slow'> & { slow: number }>(
      'SELECT kind, value, keep_ppm AS keepPpm, slow FROM limit_guards ORDER BY kind, value',
    )
    .all()
    .map((row) => ({ ...row, slow: row.slow !== 0 }));

interface NewGuard {
  keepPpm: number;
  slow: boolean;
  /** A key is named by its label or id. */
  named: readonly { kind: GuardedKind; value: string }[];
}

/** Replaces the guard of all windows. Throws GwError 404 for a key that is not there. */
export function setGuard(db: Db, { keepPpm, slow, named }: NewGuard): void {
  changeConfiguration(db, () => {
    db.prepare('DELETE FROM limit_guards').run();
    const insert = db.prepare<[string, string, number, number]>(
      'INSERT OR REPLACE INTO limit_guards (kind, value, keep_ppm, slow) VALUES (?, ?, ?, ?)',
    );
    for (const { kind, value } of named)
      insert.run(kind, kind === 'key' ? String(keyId(db, value)) : value, keepPpm, Number(slow));
  });
}

/** Returns whether there was a guard. */
export const removeGuard = (db: Db): boolean =>
  changeConfiguration(db, () => db.prepare('DELETE FROM limit_guards').run().changes > 0);

/** The label is looked for first: a label may be a number. */
function keyId(db: Db, name: string): number {
  const found = db
    .prepare<{ name: string }, number>(`SELECT id FROM keys WHERE revoked_at IS NULL
      AND (label = @name OR CAST(id AS TEXT) = @name) ORDER BY label IS NOT @name, id DESC LIMIT 1`)
    .pluck()
    .get({ name });
  if (found !== undefined) return found;
  throw notFound(`no key "${name}": use its label or id. See: gw keys list`, 'key_not_found');
}

/** Labels of keys by id, for the views of guards. */
export const keyLabel = (db: Db, id: string): string =>
  db
    .prepare<[string], string>(
      'SELECT coalesce(label, CAST(id AS TEXT)) FROM keys WHERE CAST(id AS TEXT) = ?',
    )
    .pluck()
    .get(id) ?? id;

/** The share of each window that the requests with a key may use, in millionths, by the key's id. */
export const listShares = (db: Db): Map<number, number> =>
  new Map(
    db
      .prepare<[], { keyId: number; sharePpm: number }>(
        'SELECT key_id AS keyId, share_ppm AS sharePpm FROM limit_shares',
      )
      .all()
      .map(({ keyId, sharePpm }) => [keyId, sharePpm]),
  );
