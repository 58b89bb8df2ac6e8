import { badRequest, GwError, notFound } from '../../errors.ts';
import { formatAskId, parseAskId } from '../../ids.ts';
import { formatUsd, type NanoUsd } from '../../money.ts';
import { columnsAs, type Row as TableRow } from '../database/columns.ts';
import { liveSlots } from '../database/daemons.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';
import type { AskState } from '../ledger/asks.ts';
import { PROJECT_NAME } from '../ledger/balance-rows.ts';
import { unspentOf } from '../ledger/standing.ts';
import { type BudgetTerms, budgetName } from '../ledger/terms.ts';
import { createRunawayRows } from '../runaways/runaways.ts';
import { type BudgetContext, openBalances } from './budgets.ts';
import { raiseInPlace } from './raise-budget.ts';

/** The question whether a request may go beyond a budget. */
export interface Ask extends Pick<TableRow<'asks'>, (typeof COLUMNS)[number]> {
  projectName: string;
  /** The budget's public id. */
  budget: string;
  isBudgetRemoved: boolean;
  /** The budget that is raised to raise it: of a member, the cap for each. */
  parentId: number;
  least: NanoUsd;
  /** Amount that is held if it is approved. */
  needed: NanoUsd;
  allowed: NanoUsd | null;
}

interface Row
  extends Omit<Ask, 'budget' | 'isBudgetRemoved'>,
    Pick<BudgetTerms, 'period' | 'repo' | 'scopeKind' | 'scopeValue' | 'removed'> {
  slot: number;
}

const COLUMNS = [
  ...(['requestId', 'projectId', 'budgetId', 'model', 'agent', 'state', 'createdAt', 'expiresAt'] as const),
  ...(['session', 'runaway'] as const),
];
const SELECT = `SELECT ${columnsAs(COLUMNS, 'a')}, ${PROJECT_NAME} AS projectName, b.period, b.repo, b.scope_kind AS scopeKind,
  b.scope_value AS scopeValue, b.parent_id AS parentId, b.removed_at IS NOT NULL AS removed, a.slot,
  a.least_nano_usd AS least, a.needed_nano_usd AS needed, a.allowed_nano_usd AS allowed
  FROM asks a JOIN budgets b ON b.id = a.budget_id JOIN projects p ON p.id = b.project_id`;

/** The questions that requests wait with, the oldest first; `projectId`: of one project. */
export function listAsks(db: Db, { projectId, now }: { projectId?: number | undefined; now: number }): Ask[] {
  const rows = db
    .prepare<[{ now: number; projectId: number | null }], Row>(`
      ${SELECT} WHERE a.state = 'open' AND a.expires_at > @now AND (@projectId IS NULL OR a.project_id = @projectId)
      ORDER BY a.created_at, a.request_id`)
    .all({ now, projectId: projectId ?? null });
  if (rows.length === 0) return [];
  const live = liveSlots(db);
  return rows.filter(({ slot }) => live.has(slot)).map(toAsk);
}

export interface Approval {
  /** Such as `ask_0kr3...`. */
  id: string;
  /** Raise the budget by this amount; undefined: let this request alone go beyond it. */
  raiseNanoUsd?: NanoUsd | undefined;
}

/**
 * Approves a request that waits: it may hold what it needs beyond the budgets that ask, or the budget is raised. Throws
 * GwError 404 for an unknown id, 409 if the request waits no more or needs no answer, and 400 for a raise that is too low.
 */
export async function approveAsk(
  db: Db,
  { id, raiseNanoUsd }: Approval,
  context: BudgetContext,
): Promise<Ask> {
  return answer(db, id, context.now, (ask) => {
    const left = roomToSpend(db, ask, context);
    if (ask.runaway !== '') letGoOn(db, ask);
    if (raiseNanoUsd === undefined) {
      write(db, ask, 'approved', ask.needed);
      return;
    }
    if (ask.parentId !== 0)
      throw badRequest(
        `${ask.budget} is one of the caps for each of these, which are raised together. To let this request alone go on: gw approve ${id} --once`,
        'raise_usd',
      );
    if (left + raiseNanoUsd < ask.least)
      throw badRequest(
        `a raise of ${formatUsd(raiseNanoUsd)} is too little: the request needs at least ${formatUsd(ask.least)}, and budget ${ask.budget} has ${formatUsd(Math.max(0, left))} left. Raise it by ${formatUsd(ask.least - left)} or more: gw approve ${id} --raise AMOUNT`,
        'raise_usd',
      );
    raiseInPlace(db, { budget: ask.budget, amountNanoUsd: raiseNanoUsd }, context);
    write(db, ask, 'approved', null);
  });
}

/** Its session is taken for a runaway no more. */
const letGoOn = (db: Db, { session, projectId, agent }: Ask): void =>
  createRunawayRows(db).mark({ session, projectId, agent }, undefined, 0);

/** Denies a request that waits. Throws GwError 404 and 409, as `approveAsk`. */
export async function denyAsk(db: Db, id: string, now: number): Promise<Ask> {
  return answer(db, id, now, (ask) => write(db, ask, 'denied', null));
}

/** Answers an open question in one transaction, and returns it as it is then. */
function answer(db: Db, id: string, now: number, decide: (ask: Ask) => void): Ask {
  return changeConfiguration(db, () => {
    const ask = find(db, id);
    mustBeOpen(db, ask, now);
    decide(ask);
    return find(db, id);
  });
}

function find(db: Db, id: string): Ask & { slot: number } {
  const requestId = parseAskId(id);
  const row =
    requestId === undefined
      ? undefined
      : db.prepare<[number], Row>(`${SELECT} WHERE a.request_id = ?`).get(requestId);
  if (!row) throw notFound(`no question "${id}". See: gw asks`, 'ask_not_found', 'id');
  return { ...toAsk(row), slot: row.slot };
}

function toAsk({ period, repo, scopeKind, scopeValue, removed, slot: _, ...row }: Row): Ask {
  const budget = budgetName({ projectName: row.projectName, period, repo, scopeKind, scopeValue });
  return { ...row, budget, isBudgetRemoved: removed === 1 };
}

function write(db: Db, { requestId }: Ask, state: AskState, allowed: NanoUsd | null): void {
  db.prepare('UPDATE asks SET state = ?, allowed_nano_usd = ? WHERE request_id = ?').run(
    state,
    allowed,
    requestId,
  );
}

/** Amount that the budget has left. Throws GwError 409 if the request needs no approval any more. */
function roomToSpend(db: Db, ask: Ask, { calendar, now }: BudgetContext): NanoUsd {
  if (ask.isBudgetRemoved)
    throw answered(
      `budget ${ask.budget} was removed, so request ${formatAskId(ask.requestId)} needs no approval`,
    );
  const balances = openBalances(db, calendar, now);
  const standing = balances.standingOf(ask.projectId, ask.budgetId);
  balances.write();
  if (!standing) throw new Error(`budget ${ask.budgetId} vanished`);
  const left = unspentOf(standing);
  if (left < ask.least || ask.runaway !== '') return left;
  throw answered(
    `budget ${ask.budget} has ${formatUsd(left)} left by now, so ${formatAskId(ask.requestId)} goes on without an answer`,
  );
}

function mustBeOpen(
  db: Db,
  { requestId, state, expiresAt, slot }: Ask & { slot: number },
  now: number,
): void {
  const id = formatAskId(requestId);
  const at = new Date(expiresAt).toISOString();
  switch (state) {
    case 'approved':
      throw answered(`${id} was approved before`);
    case 'denied':
      throw answered(`${id} was denied before: its request was refused`);
    case 'ended':
      throw answered(`${id} has ended: its request does not wait any more. See: gw requests`);
    case 'expired':
      throw answered(`${id} has expired at ${at}: its request was refused, as nobody answered in time`);
    case 'open':
      if (expiresAt <= now)
        throw answered(`${id} has expired at ${at}: its request was refused, as nobody answered in time`);
      if (!liveSlots(db).has(slot))
        throw answered(`${id} has ended: the gw that its request waited at is not running any more`);
  }
}

function answered(message: string): GwError {
  return new GwError(message, { status: 409, type: 'invalid_request_error', code: 'ask_closed' });
}
