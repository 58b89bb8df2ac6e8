import { formatAskId, formatRequestId } from '../../../ids.ts';
import { type NanoUsd, usdNumber } from '../../../money.ts';
import type { EmitEvent } from '../events.ts';
import type { RequestHead } from '../journal.ts';
import { capOf, exhausted, roomOf, type Standing, spentOf, tightest, unspentOf } from '../standing.ts';
import { budgetName } from '../terms.ts';
import type { AskRows } from './ask-rows.ts';

/** How a request's owner is asked. */
export interface AskTerms {
  /** What the request is to hold: the owner approves this amount. */
  needed(): NanoUsd;
  /** Until when the request can wait for the answer. UTC milliseconds. */
  expiresAt(): number;
}

/** A request that its owner may be asked about. */
export interface Asked extends RequestHead {
  amount: NanoUsd;
  least: NanoUsd;
  fitInto?: (room: NanoUsd) => NanoUsd | undefined;
  /** Undefined: nobody is asked. */
  asking?: AskTerms | undefined;
}

export type AskResult =
  /** There is no room in this period, and the owner is asked: `look` tells of the answer. */
  | { kind: 'ask'; standing: Standing }
  /** The project was paused, or the key revoked, while the request waited for an answer. Nothing is written. */
  | { kind: 'shut' };

export interface AskingOptions<Request extends Asked, Result> {
  rows: AskRows;
  /** The time of the running batch. */
  now: () => number;
  emit: EmitEvent;
  standingsFor: (request: Request) => Standing[];
  admit: (request: Request) => Result;
  /** `allowed`: what the owner has allowed beyond the caps of budgets that ask. */
  hold: (request: Request, amount: NanoUsd, standings: Standing[], allowed: NanoUsd) => Result;
  block: (request: Request, full: Standing) => Result;
}

/** Asks the owner of a budget about requests that it would refuse. Each function runs within a batch. */
export interface Asking<Request extends Asked, Result> {
  /** Asks about a request that `full` has no room for; undefined if it is to be blocked. */
  ask(request: Request, standings: Standing[], full: Standing): AskResult | undefined;
  /** `wait`: the budgets may have room by now, so that the request is to be admitted in its turn. */
  look(request: Request): Result | AskResult | { kind: 'wait'; standing: Standing };
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
    const { asking } = request;
    if (!asking || !standings.every((each) => asks(each) || !exhausted([each], request.least)))
      return undefined;
    if (asking.expiresAt() <= now()) return undefined;
    const answer = rows.read(request.id);
    // A raise may not have been enough, or another budget refuses the request by now.
    if (answer?.state !== 'open' || answer.budgetId !== full.budget.id) open(request, full, asking);
    return { kind: 'ask', standing: full };
  }

  function open(request: Request, full: Standing, asking: AskTerms): void {
    const { id, projectId, keyId, askedModel, agent = '', least } = request;
    const needed = asking.needed();
    const expiresAt = asking.expiresAt();
    const head = { requestId: id, projectId, budgetId: full.budget.id, keyId, model: askedModel, agent };
    rows.open({ ...head, least, needed, expiresAt }, now());
    emit('request.approval_requested', projectId, {
      ask_id: formatAskId(id),
      request_id: formatRequestId(id),
      budget_id: budgetName(full.budget),
      model: askedModel,
      ...(agent === '' ? {} : { agent }),
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
    const full = exhausted(standings, request.least);
    if (answer?.state === 'denied') return block(request, full ?? first);
    if (answer?.state === 'approved' && answer.allowed !== null)
      return holdApproved(request, standings, answer.allowed);
    if (!full) return { kind: 'wait', standing: first };
    const asked = ask(request, standings, full);
    if (asked) return asked;
    rows.close(request.id, 'expired');
    return block(request, full);
  }

  /** Budgets that ask need no room for what was approved; all others do. */
  function holdApproved(request: Request, standings: Standing[], allowed: NanoUsd): Result | AskResult {
    const { amount, asking } = request;
    const room = roomWith(standings, allowed);
    const held = amount <= room ? amount : request.fitInto?.(room);
    if (held !== undefined && held <= room) return hold(request, held, standings, allowed);
    const others = standings.filter((each) => !asks(each));
    const full = others.length > 0 ? exhausted(others, request.least) : undefined;
    const mayWait = !full && asking !== undefined && asking.expiresAt() > now();
    return mayWait
      ? { kind: 'ask', standing: tightest(standings) }
      : block(request, full ?? tightest(standings));
  }

  return { ask, look };
}

const asks = ({ budget }: Standing): boolean => budget.onLimit === 'ask';

/** The room that all of the budgets have for a request that may hold `allowed` beyond the caps of those that ask. */
export const roomWith = (standings: Standing[], allowed: NanoUsd): NanoUsd =>
  Math.min(...standings.map((each) => (asks(each) ? Math.max(allowed, roomOf(each)) : roomOf(each))));
