import type { Db } from '../database/open.ts';
import { prepareCopyRaises, prepareInsertMember, SELECT_TERMS } from '../ledger/balance-rows.ts';
import type { Balances } from '../ledger/balances.ts';
import type { BudgetPeriod, BudgetTerms, EachKind } from '../ledger/terms.ts';
import { type CountedRequests, chargeOpenHolds, runningValues, spentSince } from './spent-before.ts';

/** A new cap for each session, agent or key. */
interface NewEach {
  id: number;
  projectId: number;
  period: BudgetPeriod;
  kind: EachKind;
  counted: CountedRequests;
  now: number;
}

/**
 * Adds the members of a new cap for each that have spent in its running period or run requests: all others begin at
 * nothing, so the ledger adds them without a look at the past. Call it within a write transaction.
 */
export function addMembers(
  db: Db,
  balances: Balances,
  { id, projectId, period, kind, counted, now }: NewEach,
): void {
  const each = db.prepare<[number], BudgetTerms>(`${SELECT_TERMS} WHERE b.id = ?`).get(id);
  if (!each) throw new Error(`budget ${id} vanished`);
  const insertMember = prepareInsertMember(db);
  const own = db
    .prepare<[number, string, string], string>(
      `SELECT iif(scope_kind = 'key', CAST(key_id AS TEXT), scope_value) FROM budgets
       WHERE project_id = ? AND period = ? AND scope_kind = ? AND removed_at IS NULL AND parent_id = 0`,
    )
    .pluck();
  const hasOwn = new Set(own.all(projectId, period, kind));
  const spent = spentSince(db, counted, period, kind);
  const running = new Set(runningValues(db, counted, kind));
  for (const value of new Set([...spent.keys(), ...running])) {
    if (value === '' || value === '0' || hasOwn.has(value)) continue;
    const member = insertMember(each, value, now);
    const ofMember = { ...counted, ...(kind === 'key' ? { keyId: Number(value) } : { [kind]: value }) };
    balances.seed(projectId, member, spent.get(value) ?? 0, (charge) =>
      running.has(value) ? chargeOpenHolds(db, ofMember, charge) : 0,
    );
    balances.announce(projectId, member);
  }
}

/** Makes a budget of one session, agent or key a member of the cap for each. Call it within a write transaction. */
export function makeMember(
  db: Db,
  id: number,
  { parentId, value }: { parentId: number; value: string },
): void {
  db.prepare('UPDATE budgets SET parent_id = ?, scope_value = ? WHERE id = ?').run(parentId, value, id);
  inheritTerms(db, parentId, [id]);
}

/** Gives members the terms and raises of their cap for each. Each ends its raises by itself. */
function inheritTerms(db: Db, parentId: number, members: number[]): void {
  const inherit = db.prepare<[{ id: number; parentId: number }]>(
    `UPDATE budgets SET (cap_nano_usd, alert_percent, alert_percents, window_ms, on_limit) =
       (SELECT cap_nano_usd, alert_percent, alert_percents, window_ms, on_limit FROM budgets WHERE id = @parentId),
     cap_version = cap_version + 1 WHERE id = @id`,
  );
  const endRaises = db.prepare<[number]>('DELETE FROM budget_raises WHERE budget_id = ?');
  const copyRaises = prepareCopyRaises(db);
  for (const id of members) {
    inherit.run({ id, parentId });
    endRaises.run(id);
    copyRaises.run({ id, parentId });
  }
}

/** Gives members the terms of their cap for each. Call it within a write transaction. */
export function changeMembers(
  db: Db,
  balances: Balances,
  { id, projectId }: { id: number; projectId: number },
): void {
  const members = db
    .prepare<[number], { id: number; cap: number; version: number }>(
      `SELECT id, cap_nano_usd AS cap, cap_version AS version FROM budgets
       WHERE parent_id = ? AND parent_id <> 0 AND removed_at IS NULL`,
    )
    .all(id);
  inheritTerms(
    db,
    id,
    members.map((member) => member.id),
  );
  for (const member of members) balances.announce(projectId, member.id, member);
}

/** Removes all members of a cap for each, or that of one value. Call it within a write transaction. */
export function removeMembers(db: Db, id: number, now: number, value: string | null = null): void {
  db.prepare(
    `UPDATE budgets SET removed_at = @now WHERE parent_id = @id AND parent_id <> 0 AND removed_at IS NULL
     AND (@value IS NULL OR scope_value = @value)`,
  ).run({ id, now, value });
}
