import { claimObjects } from '../accounts/objects.ts';
import { isProjectName } from '../accounts/projects.ts';
import type { Db } from '../database/open.ts';
import { bumpConfigurationEpoch } from '../database/write.ts';

/** A key of the team as its PostgreSQL has it. */
export interface TeamKeyTerms {
  id: number;
  /** SHA-256 of the key, hexadecimal, as `hashKey` makes it. */
  hash: string;
  hint: string;
  label: string;
  project: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  models: readonly string[] | null;
  rpm: number | null;
}

/**
 * Makes the local copies of the team's keys what the team says. `isAll`: a copy that is not in the list is revoked. A key
 * that this gateway made itself is never changed, whatever its hash. Returns whether anything changed. Runs within a
 * transaction.
 */
export function applyTeamKeys(
  db: Db,
  { keys, isAll, now }: { keys: readonly TeamKeyTerms[]; isAll: boolean; now: number },
): boolean {
  const revoke = db.prepare(`UPDATE keys SET revoked_at = @revokedAt WHERE hash = @hash
    AND team_key_id IS NOT NULL AND revoked_at IS NULL`);
  const upsert = db.prepare(`
    INSERT INTO keys (project_id, hash, hint, label, admin, created_at, expires_at, models, rpm, team_key_id)
    VALUES (@projectId, @hash, @hint, @label, 0, @createdAt, @expiresAt, @models, @rpm, @id)
    ON CONFLICT (hash) DO UPDATE SET project_id = excluded.project_id, label = excluded.label, models = excluded.models,
    rpm = excluded.rpm, expires_at = excluded.expires_at, team_key_id = excluded.team_key_id, revoked_at = NULL
    WHERE team_key_id IS NOT NULL AND (project_id, label, models, rpm, expires_at, team_key_id, revoked_at) IS NOT
    (excluded.project_id, excluded.label, excluded.models, excluded.rpm, excluded.expires_at, excluded.team_key_id, NULL)`);
  let changes = 0;
  for (const { revokedAt, models, hash: hex, ...key } of keys) {
    const hash = Buffer.from(hex, 'hex');
    if (revokedAt !== null) changes += revoke.run({ hash, revokedAt }).changes;
    // Only SQL by hand gets another name into the team's table; that key is of no use here.
    else if (isProjectName(key.project)) {
      const projectId = projectOf(db, key.project, now);
      changes += upsert.run({
        ...key,
        hash,
        projectId,
        models: models && JSON.stringify(models),
      }).changes;
    }
  }
  if (isAll) {
    const live = keys.filter(({ revokedAt }) => revokedAt === null).map(({ id }) => id);
    changes += db
      .prepare(`UPDATE keys SET revoked_at = @now WHERE team_key_id IS NOT NULL AND revoked_at IS NULL
        AND team_key_id NOT IN (SELECT value FROM json_each(@live))`)
      .run({ now, live: JSON.stringify(live) }).changes;
  }
  if (changes > 0) bumpConfigurationEpoch(db);
  return changes > 0;
}

/** The project that a key of the team names; a gateway that has none makes it. */
function projectOf(db: Db, name: string, now: number): number {
  const select = db.prepare<[string], number>('SELECT id FROM projects WHERE name = ?').pluck();
  const known = select.get(name);
  if (known !== undefined) return known;
  claimObjects(db);
  db.prepare('INSERT INTO projects (name, created_at) VALUES (?, ?)').run(name, now);
  return select.get(name) as number;
}

/** Notes that the team's keys were as they are here at a time, UTC ms by this machine. */
export function noteKeysChecked(db: Db, at: number): void {
  db.prepare('UPDATE team_membership SET keys_checked_at = ?').run(at);
}

/** Reads when the team's keys were last known to be right; 0: never. */
export function createKeysChecked(db: Db): () => number {
  const select = db.prepare<[], number>('SELECT keys_checked_at FROM team_membership').pluck();
  return () => select.get() ?? 0;
}
