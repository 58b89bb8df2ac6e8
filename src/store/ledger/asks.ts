import { formatAskId, formatRequestId, type RequestId } from '../../ids.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import type { EmitEvent } from './events.ts';
import type { RequestHead } from './journal.ts';
import type { AskTerms, Fit, Offer } from './offer.ts';
import { capOf, exhausted, roomOf, type Standing, spentOf, tightest, unspentOf } from './standing.ts';
import { budgetName } from './terms.ts';

/** A request that its owner may be asked about. */
interface Asked extends RequestHead {
  offer: Pick<Offer, 'amount' | 'least' | 'fitInto' | 'asking'>;
  /** Why its session is taken for a runaway. */
  runaway?: (() => string | undefined) | undefined;
}

export type AskResult =
  /** No room in this period, and the owner is asked: poll `look` for the answer. */
  | { kind: 'ask'; standing: Standing }
  /** The project was paused, or the key revoked, while the request waited for an answer. Nothing is written. */
  | { kind: 'shut' };

/** Its session is taken for a runaway, and a budget refuses its requests. Nothing is written. */
export interface RunawayResult {
  kind: 'runaway';
  standing: Standing;
}

interface AskingOptions<Request extends Asked, Result> {
  rows: AskRows;
  /** The time of the running batch. */
  now: () => number;
  emit: EmitEvent;
  standingsFor: (request: Request) => Standing[];
  admit: (request: Request) => Result;
  /** `allowed`: what the owner has allowed beyond the caps of budgets that ask. */
  hold: (request: Request, held: Fit, standings: Standing[], allowed: NanoUsd) => Result;
  block: (request: Request, full: Standing) => Result;
}

/** Asks the owner of a budget about requests that it would refuse. Each function runs within a batch. */
interface Asking<Request extends Asked, Result> {
  /** Asks about a request that `full` has no room for; undefined if it is to be blocked. */
  ask(request: Request, standings: Standing[], full: Standing): AskResult | undefined;
  /** `wait`: the budgets may have room by now, so that the request is to be admitted in its turn. */
  look(request: Request): Result | AskResult | RunawayResult | { kind: 'wait'; standing: Standing };
}

export function createAsking<Request extends Asked, Result>({
  rows,
  now,
  emit,
  standingsFor,
  admit,
  hold,
  block,
}: AskingOptions<Request, Result>): Asking<Request, Result> {
  function ask(request: Request, standings: Standing[], full: Standing): AskResult | undefined {
    const { offer, runaway } = request;
    const { asking, least } = offer;
    if (!asking) return undefined;
    if (!runaway?.() && !standings.every((each) => asks(each) || !exhausted([each], least))) return undefined;
    if (asking.expiresAt() <= now()) return undefined;
    const answer = rows.read(request.id);
    // A raise may not have been enough, or another budget refuses the request by now.
    if (answer?.state !== 'open' || answer.budgetId !== full.budget.id) open(request, full, asking);
    return { kind: 'ask', standing: full };
  }

  function open(request: Request, full: Standing, asking: AskTerms): void {
    const { id, projectId, keyId, askedModel, agent = '', session = '', offer } = request;
    const { least } = offer;
    const runaway = request.runaway?.() ?? '';
    const needed = asking.needed();
    const expiresAt = asking.expiresAt();
    const head = { requestId: id, projectId, budgetId: full.budget.id, keyId, model: askedModel, agent };
    const of = { session, runaway };
    rows.open({ ...head, ...of, least, needed, expiresAt }, now());
    emit('request.approval_requested', projectId, {
      ask_id: formatAskId(id),
      request_id: formatRequestId(id),
      budget_id: budgetName(full.budget),
      model: askedModel,
      ...(agent === '' ? {} : { agent }),
      ...(runaway === '' ? {} : of),
      needed_usd: usdNumber(needed),
      remaining_usd: usdNumber(Math.max(0, unspentOf(full))),
      cap_usd: usdNumber(capOf(full)),
      spent_usd: usdNumber(spentOf(full)),
      expires_at: new Date(expiresAt).toISOString(),
    });
  }

  function look(request: Request): ReturnType<Asking<Request, Result>['look']> {
    const standings = standingsFor(request);
    const [first] = standings;
    const answer = rows.read(request.id);
    if (answer?.isShut) return { kind: 'shut' };
    // The budgets were removed.
    if (!first) return admit(request);
    const full = exhausted(standings, request.offer.least);
    if (answer?.state === 'denied') return refuse(request, full ?? first);
    if (answer?.state === 'approved' && answer.allowed !== null)
      return holdApproved(request, standings, answer.allowed);
    const about = request.runaway?.() ? standings.find(asksOfRunaways) : full;
    if (!about) return { kind: 'wait', standing: first };
    const asked = ask(request, standings, about);
    if (asked) return asked;
    rows.close(request.id, 'expired');
    return refuse(request, about);
  }

  const refuse = (request: Request, full: Standing): Result | RunawayResult =>
    request.runaway?.() ? { kind: 'runaway', standing: full } : block(request, full);

  /** Budgets that ask need no room for what was approved; all others do. */
  function holdApproved(request: Request, standings: Standing[], allowed: NanoUsd): Result | AskResult {
    const { offer } = request;
    const { asking, least } = offer;
    const room = roomWith(standings, allowed);
    const held = offer.amount <= room ? offer : offer.fitInto?.(room);
    if (held && held.amount <= room) return hold(request, held, standings, allowed);
    const others = standings.filter((each) => !asks(each));
    const full = others.length > 0 ? exhausted(others, least) : undefined;
    const mayWait = !full && asking !== undefined && asking.expiresAt() > now();
    return mayWait
      ? { kind: 'ask', standing: tightest(standings) }
      : block(request, full ?? tightest(standings));
  }

  return { ask, look };
}

const asks = ({ budget }: Standing): boolean => budget.onLimit === 'ask';

/** Whether a budget asks its owner about sessions that are taken for runaways. */
export const asksOfRunaways = ({ budget }: Standing): boolean => budget.runaway === 'ask';

/** The room that all of the budgets have for a request that may hold `allowed` beyond the caps of those that ask. */
export const roomWith = (standings: Standing[], allowed: NanoUsd): NanoUsd =>
  Math.min(...standings.map((each) => (asks(each) ? Math.max(allowed, roomOf(each)) : roomOf(each))));

/**
 * `open`: the request waits for an answer. `expired`: there was none in time. `ended`: the request needs none any more,
 * because its client or its daemon is gone, or there was room.
 */
export type AskState = Row<'asks'>['state'];

type AskColumn =
  | 'requestId'
  | 'projectId'
  | 'budgetId'
  | 'keyId'
  | 'model'
  | 'agent'
  | 'session'
  | 'runaway'
  | 'expiresAt';

/** A request that waits for its owner's answer. `least`: the least that it can do with; `needed`: held if it is approved. */
type NewAsk = Pick<Row<'asks'>, AskColumn> & { least: NanoUsd; needed: NanoUsd };

/** State of an ask. */
interface AskAnswer {
  state: AskState;
  budgetId: number;
  /** The most that the approved request may hold, whatever its budgets have left; null: they have to have room. */
  allowed: NanoUsd | null;
  /** 1 if the project was paused, or the key revoked, while the request waited. */
  isShut: number;
}

/** Writes the asks of one daemon. Call it within a write transaction. */
export type AskRows = ReturnType<typeof createAskRows>;

const KEPT_MS = 86_400_000;

export function createAskRows(db: Db, slot: number) {
  const prune = db.prepare<[number]>("DELETE FROM asks WHERE state <> 'open' AND expires_at < ?");
  const insert = db.prepare<[Record<string, string | number>]>(`
    INSERT INTO asks (request_id, project_id, budget_id, key_id, slot, model, agent, least_nano_usd, needed_nano_usd,
    session, runaway, state, created_at, expires_at)
    VALUES (@requestId, @projectId, @budgetId, @keyId, @slot, @model, @agent, @least, @needed, @session, @runaway, 'open', @now, @expiresAt)
    ON CONFLICT DO UPDATE SET budget_id = @budgetId, least_nano_usd = @least, needed_nano_usd = @needed, state = 'open'`);
  const select = db.prepare<[number], AskAnswer>(`
    SELECT a.state, a.budget_id AS budgetId, a.allowed_nano_usd AS allowed,
    p.paused_at IS NOT NULL OR p.removed_at IS NOT NULL OR k.revoked_at IS NOT NULL AS isShut FROM asks a
    JOIN projects p ON p.id = a.project_id LEFT JOIN keys k ON k.id = a.key_id WHERE a.request_id = ?`);
  const close = db.prepare<[string, number]>(`UPDATE asks SET state = ? WHERE request_id = ?
    AND state = 'open'`);
  const closeAll = db.prepare<[number]>("UPDATE asks SET state = 'ended' WHERE slot = ? AND state = 'open'");
  return {
    /** Opens an ask, or opens it again. Asks that ended a day ago are deleted. */
    open(ask: NewAsk, now: number) {
      prune.run(now - KEPT_MS);
      insert.run({ ...ask, slot, now });
    },
    read: (requestId: RequestId): AskAnswer | undefined => select.get(requestId),
    /** Ends an ask, unless it was answered. */
    close: (requestId: RequestId, state: AskState) => void close.run(state, requestId),
    /** Ends the open asks of a daemon that is gone. */
    closeAll: (deadSlot: number) => closeAll.run(deadSlot),
  };
}
