import { badRequest, GwError, notFound } from '../../errors.ts';
import { newApiKey, type Random, systemRandom } from '../../ids.ts';
import { type Labels, labelsText } from '../../labels.ts';
import type { NanoUsd } from '../../money.ts';
import { columnsAs, insertRow, type Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';
import { hashKey } from './callers.ts';

export { hashKey } from './callers.ts';

type KeyRow = Pick<Row<'keys'>, (typeof COLUMNS)[number]> & { project: string };

export interface Key extends Omit<KeyRow, 'models'> {
  /** The models that it may name; null: all. */
  models: string[] | null;
}

type StoredKey = Omit<KeyRow, 'admin'> & { admin: number };

export interface KeyLimits {
  expiresAt?: number | null;
  models?: readonly string[] | null;
  rpm?: number | null;
}

interface NewKey extends KeyLimits {
  projectId: number;
  admin?: boolean;
  label?: string | null;
  /** Of its requests. */
  labels?: Labels | undefined;
  now: number;
  random?: Random;
}

const COLUMNS = [
  ...(['id', 'admin', 'label', 'hint', 'createdAt', 'revokedAt', 'expiresAt', 'models', 'rpm'] as const),
  ...(['oldUntil', 'teamKeyId'] as const),
];
const SELECT = `SELECT ${columnsAs(COLUMNS, 'k')}, p.name AS project FROM keys k
  JOIN projects p ON p.id = k.project_id WHERE p.removed_at IS NULL`;

/** Makes a key. The key itself is returned once and never stored. Throws GwError 400 for bad limits. */
export async function createKey(db: Db, options: NewKey): Promise<{ id: number; key: string }> {
  checkLimits(options, options.now);
  return changeConfiguration(db, () => insertKey(db, options));
}

/** Makes a key within a change of the configuration. */
export function insertKey(db: Db, options: NewKey): { id: number; key: string } {
  const { projectId, admin = false, label = null, now: createdAt, expiresAt = null, rpm = null } = options;
  const key = newApiKey(options.random ?? systemRandom);
  const models = options.models ? JSON.stringify(options.models) : null;
  const row = {
    projectId,
    hash: hashKey(key),
    hint: key.slice(-4),
    label,
    admin,
    createdAt,
    expiresAt,
    models,
    rpm,
    labels: options.labels ? labelsText(options.labels) : null,
  };
  return { id: insertRow(db, 'keys', row), key };
}

/** The keys of a project, or of all projects, including revoked ones. */
export async function listKeys(db: Db, projectId?: number): Promise<Key[]> {
  const rows =
    projectId === undefined
      ? db.prepare<[], StoredKey>(`${SELECT} ORDER BY k.id`).all()
      : db.prepare<[number], StoredKey>(`${SELECT} AND k.project_id = ? ORDER BY k.id`).all(projectId);
  return toKeys(rows);
}

function toKeys(rows: StoredKey[]): Key[] {
  return rows.map(({ admin, models, ...row }) => ({
    ...row,
    admin: admin === 1,
    models: models === null ? null : (JSON.parse(models) as string[]),
  }));
}

const MAX_RPM = 10_000;
const MAX_MODELS = 100;
const MAX_MODEL_LENGTH = 200;

/** Throws GwError 400 for limits that no key can have. */
export function checkLimits({ expiresAt = null, models = null, rpm = null }: KeyLimits, now: number): void {
  if (expiresAt !== null && expiresAt <= now)
    throw badRequest(
      `the key would expire at ${new Date(expiresAt).toISOString()}, which is past`,
      'expires_at',
    );
  const isName = (model: string) => model.trim() !== '' && model.length <= MAX_MODEL_LENGTH;
  if (models !== null && !(models.length > 0 && models.length <= MAX_MODELS && models.every(isName)))
    throw badRequest(`a key may have 1 to ${MAX_MODELS} models, by their names`, 'models');
  if (rpm !== null && !(Number.isInteger(rpm) && rpm >= 1 && rpm <= MAX_RPM))
    throw badRequest(`${rpm} requests a minute: use a whole number from 1 to ${MAX_RPM}`, 'rpm');
}

export interface Rotation {
  id: number;
  /** How long the former key works beside the new one. */
  overlapMs: number;
  /** When the new key expires; undefined: when the former one would have. */
  expiresAt?: number | null | undefined;
  now: number;
  random?: Random;
}

const MAX_OVERLAP_MS = 90 * 86_400_000;

/**
 * Replaces a key by a new one with the same id, limits, budgets and spend. The former one works until the overlap ends;
 * one from an earlier rotation stops at once. Throws GwError 400 and 404.
 */
export async function rotateKey(
  db: Db,
  { id, overlapMs, expiresAt, now, random = systemRandom }: Rotation,
): Promise<{ key: string; row: Key }> {
  if (!(overlapMs >= 0 && overlapMs <= MAX_OVERLAP_MS))
    throw badRequest('the overlap of two keys is from 0 to 90 days', 'overlap_seconds');
  const key = newApiKey(random);
  const row = changeConfiguration(db, () => {
    refuseTeamKey(db, id);
    const former = liveKey(db, id);
    const expires = expiresAt === undefined ? former.expiresAt : expiresAt;
    if (expires !== null && expires <= now)
      throw badRequest(
        `key ${id} has expired. To give it more time: gw keys rotate ${id} --expires 30d`,
        'id',
      );
    db.prepare(
      `UPDATE keys SET old_hash = hash, old_until = ?, hash = ?, hint = ?, expires_at = ?, rotated_at = ? WHERE id = ?`,
    ).run(now + overlapMs, hashKey(key), key.slice(-4), expires, now, id);
    return liveKey(db, id);
  });
  return { key, row };
}

function liveKey(db: Db, id: number): Key {
  const [row] = toKeys(
    db.prepare<[number], StoredKey>(`${SELECT} AND k.id = ? AND k.revoked_at IS NULL`).all(id),
  );
  if (row) return row;
  throw unknownKey(id);
}

/** A change here would be undone by the next word of the team. */
function refuseTeamKey(db: Db, id: number): void {
  const select = db.prepare<[number], number | null>(`SELECT team_key_id FROM keys WHERE id = ?
    AND revoked_at IS NULL`);
  const teamKeyId = select.pluck().get(id);
  if (!teamKeyId) return;
  throw new GwError(
    `key ${id} is the team's. Its admin revokes it on all gateways: gw team keys revoke ${teamKeyId}`,
    { status: 409, type: 'invalid_request_error', code: 'team_key', param: 'id' },
  );
}

const unknownKey = (id: number) =>
  notFound(`no live key with id ${id}. See: gw keys list`, 'key_not_found', 'id');

/** Revokes a key, with effect from the next request. 404 for an unknown or revoked key. */
export async function revokeKey(db: Db, id: number, now: number): Promise<void> {
  const { changes } = changeConfiguration(db, () => {
    refuseTeamKey(db, id);
    return db.prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL').run(now, id);
  });
  if (changes === 0) throw unknownKey(id);
}

/** Usage of a key, read from request records: using a key writes nothing of its own. */
export interface KeyUsage {
  /** When its last request came in, UTC milliseconds; null: never. To the hour once that request is pruned. */
  lastUsedAt: number | null;
  spentNanoUsd: NanoUsd;
}

/** The usage of all keys that have any, by their ids. */
export function readKeyUsage(db: Db): ReadonlyMap<number, KeyUsage> {
  const rows = db
    .prepare<[], KeyUsage & { id: number }>(`SELECT u.key_id AS id, sum(u.cost_nano_usd) AS spentNanoUsd,
      coalesce((SELECT at FROM journal j WHERE j.key_id = u.key_id ORDER BY id DESC LIMIT 1),
        (SELECT at FROM requests r WHERE r.key_id = u.key_id ORDER BY id DESC LIMIT 1), max(u.bucket)) AS lastUsedAt
      FROM usage u WHERE u.source = 0 AND u.key_id > 0 GROUP BY u.key_id`)
    .all();
  return new Map(rows.map(({ id, ...usage }) => [id, usage]));
}
