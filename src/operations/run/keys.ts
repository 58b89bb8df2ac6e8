import { notFound } from '../../errors.ts';
import { usdFields } from '../../money.ts';
import * as store from '../../store/accounts/keys.ts';
import { readKeyUsage } from '../../store/accounts/keys.ts';
import { findProject } from '../../store/accounts/projects.ts';
import { isoTime } from '../../store/ledger/standing.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/keys.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { parseTime } from '../times.ts';

export async function keys(
  { db, scope }: Sources,
  { project_id, revoked = false }: Input<typeof described.keys>,
): Promise<described.KeyView[]> {
  const all = await store.listKeys(db, projectToRead(db, scope, project_id));
  const usages = readKeyUsage(db);
  return all
    .filter(({ revokedAt }) => revoked || revokedAt === null)
    .map((key) => {
      const { lastUsedAt = null, spentNanoUsd = 0 } = usages.get(key.id) ?? {};
      const { id, project, hint, admin, label, models, rpm } = key;
      return {
        id,
        project_id: project,
        hint,
        admin,
        label,
        created_at: new Date(key.createdAt).toISOString(),
        revoked_at: isoTime(key.revokedAt),
        expires_at: isoTime(key.expiresAt),
        models,
        rpm,
        last_used_at: isoTime(lastUsedAt),
        ...usdFields('spent', spentNanoUsd),
        team: key.teamKeyId !== null,
        previous_key_expires_at: isoTime(key.oldUntil),
      };
    });
}

export function createKey(
  { db, scope, change, now }: Sources,
  {
    project_id = scope.project,
    admin = false,
    label = null,
    expires_at = null,
    models = null,
    rpm = null,
  }: Input<typeof described.createKey>,
): Promise<described.NewKeyView> {
  return change(async () => {
    const projectId = findProject(db, project_id);
    const expiresAt = parseTime(expires_at);
    const terms = { projectId, admin, label, expiresAt, models, rpm };
    const { id, key } = await store.createKey(db, { ...terms, now: now() });
    return { id, key, project_id, admin, expires_at: isoTime(expiresAt) };
  });
}

export function rotateKey(
  { db, change, now }: Sources,
  { id, overlap_seconds = 86_400, expires_at }: Input<typeof described.rotateKey> & { id: number | string },
) {
  return change(async () => {
    const time = now();
    const overlapMs = overlap_seconds * 1_000;
    const expiresAt = parseTime(expires_at);
    const { key, row } = await store.rotateKey(db, { id: keyId(id), overlapMs, expiresAt, now: time });
    return {
      id: row.id,
      key,
      project_id: row.project,
      admin: row.admin,
      expires_at: isoTime(row.expiresAt),
      previous_key_expires_at: new Date(time + overlapMs).toISOString(),
    };
  });
}

export async function revokeKey({ db, change, now }: Sources, { id }: { id: number | string }) {
  const known = keyId(id);
  await change(() => store.revokeKey(db, known, now()));
  return { object: 'key.revoked', id: known, revoked: true };
}

/** The id in a path. Throws GwError 404. */
function keyId(id: number | string): number {
  if (/^[1-9]\d{0,14}$/.test(String(id))) return Number(id);
  throw notFound(`"${id}" is not the id of a key. See: gw keys list`, 'key_not_found', 'id');
}
