import { GwError } from '../../errors.ts';
import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';

/** This gateway's membership in a team. */
export type Membership = Omit<Row<'teamMembership'>, 'id'>;

const COLUMNS = `gateway_id AS gatewayId, name, team_name AS teamName, token, nonce, next_nonce AS nextNonce, fingerprint,
  incarnation, timezone, config_version AS configVersion, courier, joined_at AS joinedAt, offset_ms AS offsetMs,
  synced_at AS syncedAt, unreachable_since AS unreachableSince, failure, frozen, leaving, usage_seq AS usageSeq,
  keys_checked_at AS keysCheckedAt, courier_until AS courierUntil`;

export function readMembership(db: Db): Membership | undefined {
  return db.prepare<[], Membership>(`SELECT ${COLUMNS} FROM team_membership`).get();
}

/** The error for what only a member can do. */
export function noTeam(): GwError {
  return new GwError('this gateway belongs to no team. To join one: gw team join URL', {
    status: 409,
    type: 'invalid_request_error',
    code: 'no_team',
  });
}

export type NewMembership = Pick<
  Membership,
  'gatewayId' | 'name' | 'teamName' | 'token' | 'nonce' | 'fingerprint' | 'timezone' | 'courier' | 'joinedAt'
>;

/** Throws GwError 409 if there is a membership: a state directory is one gateway. */
export function addMembership(db: Db, membership: NewMembership): void {
  changeConfiguration(db, () => {
    const { changes } = db
      .prepare(`
        INSERT OR IGNORE INTO team_membership (id, gateway_id, name, team_name, token, nonce, fingerprint, timezone,
        courier, joined_at) VALUES (1, @gatewayId, @name, @teamName, @token, @nonce, @fingerprint, @timezone, @courier,
        @joinedAt)`)
      .run(membership);
    if (changes === 0)
      throw new GwError('this gateway already belongs to a team. See: gw team status', {
        status: 409,
        type: 'invalid_request_error',
        code: 'team_joined',
      });
  });
}

/** Has the daemon that syncs deliver the team's events too, when no other gateway does. */
export function makeCourier(db: Db): void {
  changeConfiguration(db, () => db.prepare('UPDATE team_membership SET courier = 1').run());
}

/** Notes until when this gateway has the courier's lease; 0: another has it. */
export function noteCourier(db: Db, until: number): void {
  db.prepare('UPDATE team_membership SET courier_until = ?').run(until);
}

/** Has the daemon that syncs return all money and leave. */
export function startLeaving(db: Db): void {
  changeConfiguration(db, () => db.prepare('UPDATE team_membership SET leaving = 1').run());
}

/** It could not leave, and goes on. */
export function stopLeaving(db: Db, failure: string, now: number): void {
  db.prepare('UPDATE team_membership SET leaving = 0').run();
  noteFailure(db, failure, now);
}

/** Removes the membership, and the team's budgets with their limits. */
export function removeMembership(db: Db, now: number): void {
  changeConfiguration(db, () => {
    db.prepare(`
      UPDATE budgets SET removed_at = coalesce(removed_at, ?), team_budget_id = NULL, cap_nano_usd = 0
      WHERE team_budget_id IS NOT NULL`).run(now);
    db.prepare(`UPDATE keys SET revoked_at = coalesce(revoked_at, ?), team_key_id = 0
      WHERE team_key_id IS NOT NULL`).run(now);
    for (const table of ['team_membership', 'team_limits', 'team_standings', 'team_usage_dirty'])
      db.prepare(`DELETE FROM ${table}`).run();
  });
}

/** Keeps the nonce that a daemon is about to introduce itself with, before it does: it may die in between. */
export function setNextNonce(db: Db, nonce: string): void {
  db.prepare('UPDATE team_membership SET next_nonce = ?').run(nonce);
}

/** The authority knows the next nonce. */
export function confirmNonce(db: Db): void {
  db.prepare('UPDATE team_membership SET nonce = coalesce(next_nonce, nonce), next_nonce = NULL').run();
}

/** Another directory speaks for this gateway: this one is its copy. */
export function markCopy(db: Db): void {
  db.prepare("UPDATE team_membership SET fingerprint = ''").run();
}

/** Notes when the authority stopped answering, and why. */
export function noteFailure(db: Db, failure: string, now: number): void {
  db.prepare(
    'UPDATE team_membership SET failure = ?, unreachable_since = coalesce(unreachable_since, ?)',
  ).run(failure, now);
}

/** Notes what an answer says of the team as a whole. Returns whether another server answered than before. */
export function noteAnswer(
  db: Db,
  answer: { incarnation: string; frozen: boolean; offsetMs: number; now: number },
): boolean {
  const { incarnation, frozen, offsetMs, now } = answer;
  const before = db.prepare<[], string>('SELECT incarnation FROM team_membership').pluck().get() ?? '';
  db.prepare(`
    UPDATE team_membership SET incarnation = ?, frozen = ?, offset_ms = ?, synced_at = ?, unreachable_since = NULL,
    failure = NULL`).run(incarnation, frozen ? 1 : 0, Math.round(offsetMs), now);
  return before !== '' && before !== incarnation;
}
