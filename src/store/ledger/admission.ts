import { formatRequestId } from '../../ids.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import {
  type AskResult,
  type AskRows,
  asksOfRunaways,
  createAsking,
  type RunawayResult,
  roomWith,
} from './asks.ts';
import type { Balances } from './balances.ts';
import type { EmitEvent } from './events.ts';
import type { Hold, Journal, RequestHead } from './journal.ts';
import type { Fit, Offer } from './offer.ts';
import type { RequestRecord } from './record.ts';
import type { EmitBlocked, RefusalFold } from './refusals.ts';
import {
  capOf,
  exhausted,
  type FallenConversation,
  fallsBack,
  isAlerted,
  isSpentFor,
  remainingIn,
  roomIn,
  roomOf,
  type Standing,
  shortOfTeam,
  spentOf,
  spentOfCap,
  teamFigures,
  tightest,
  unspentOf,
} from './standing.ts';
import type { TeamHooks } from './team-terms.ts';
import { budgetName, isOfTarget } from './terms.ts';

/** A request that asks for room in the budgets that count it. */
export interface Admission extends RequestHead {
  offer: Offer;
  /** The queue that the request waits in: its project, or its repository where that has budgets of its own. */
  queueKey?: number | string;
  /** False for a first try with a loose bound: where that has no room, nothing is decided. */
  isFinal: boolean;
  /** A budget with cheaper models may send it there. `before`: the one that sent its conversation there. */
  mayFallBack?: { before: FallenConversation | undefined } | undefined;
  /** The budget that has sent it to this cheaper model, where it goes whole or not at all. */
  fallenFrom?: number | undefined;
  /** Other targets can serve it: where a budget of this one has no room, nothing is decided. */
  hasOthers?: boolean;
  /** A leaner rung for a request that waits, if better bounds are known by now. */
  requote?: (() => Offer | undefined) | undefined;
  /** Why its session is taken for a runaway, as long as it is: budgets may refuse it, or ask about it. */
  runaway?: (() => string | undefined) | undefined;
}

interface Held {
  kind: 'held';
  amount: NanoUsd;
  remaining: NanoUsd | null;
  spentOfCap: number;
  /** Amount that the owner has approved beyond the caps of budgets that ask. */
  allowed: NanoUsd | undefined;
  /** The limits behind the amount, if not those of the offer. */
  fit?: Fit | undefined;
}

/** `offer`: the leaner rung that this was decided about, if not the one that was asked for. */
export type AdmissionResult = Decision & { offer?: Offer };

type Decision =
  /**
   * Reserved and durable: the request may be sent. `remaining` is the room of the tightest budget, null without
   * budgets; `spentOfCap` the largest part of its cap that a budget has spent, 0 without budgets.
   */
  | Held
  /** No room for the loose bound, and there may be for a count. Nothing is written. */
  | { kind: 'needs_count' }
  /** A budget of the target has no room, and there are other targets. Nothing is written. */
  | { kind: 'elsewhere'; standing: Standing }
  /** Budgets at their limit, which name cheaper models for it. Nothing is written. */
  | { kind: 'fallback'; standings: Standing[] }
  /** The cost can't be bounded and there is a budget. Nothing is written. */
  | { kind: 'unpriced'; standing: Standing }
  /** There may be room once running requests settle. Nothing is written. */
  | { kind: 'wait'; standing: Standing }
  /** The limit of a team budget is used up, and the authority can't be reached. Nothing is written. */
  | { kind: 'unreachable'; standing: Standing }
  /** There is no room in this period. The record and the events are written. */
  | { kind: 'blocked'; standing: Standing }
  | RunawayResult
  | AskResult;

/** A running request that needs a hold for its next attempt. */
export interface Readmission
  extends RequestHead,
    Fit,
    Pick<Offer, 'small' | 'fitInto' | 'needOf' | 'unpriced'> {
  /** Cost of its attempts so far, or an upper bound of it. */
  spent: NanoUsd;
  /** As of an admission, for the last attempt that is left: with no room in this period the request is blocked. */
  least?: NanoUsd;
  /** `allowed` of its first hold. */
  allowed?: NanoUsd | undefined;
}

export type ReadmissionResult =
  /** `amount` is held: what was spent plus the next attempt's worst case. `fit`: its limits, if not its own. */
  | { kind: 'held'; amount: NanoUsd; remaining: NanoUsd | null; fit?: Fit | undefined }
  /** The next attempt has no room or no known price; only what was spent is held. */
  | { kind: 'refused'; standing: Standing }
  /** The request has no open hold. */
  | { kind: 'resolved_before' };

export interface AdmissionsOptions {
  /** This daemon's slot; its holds carry it. */
  slot: number;
  balances: Pick<Balances, 'standingsFor' | 'reserve' | 'post' | 'leave' | 'exceed' | 'fallBack'>;
  journal: Pick<Journal, 'open' | 'reopen' | 'holdOf'>;
  /** Returns the row that stands for this refusal and others; undefined if it has a row of its own. */
  writeRecord: (record: RequestRecord) => RefusalFold | undefined;
  emitBlocked: EmitBlocked;
  team?: TeamHooks | undefined;
  /** Undefined: nobody is asked. */
  asks?: { rows: AskRows; emit: EmitEvent } | undefined;
  /** The time of the running batch. */
  now: () => number;
}

/** Need of a blocked request, and of a small one at the same price. */
type BlockedNeed = Pick<Offer, 'least' | 'small'>;

/** Decides who may run. Each function runs within a batch; after `endBatch`, those who wait may find room that was freed. */
export function createAdmissions(options: AdmissionsOptions) {
  const { slot, balances, journal, writeRecord, team, asks, now } = options;
  const asking =
    asks && createAsking<Admission, AdmissionResult>({ ...asks, ...balances, now, admit, hold, block });
  /** Queues in which a request of this batch has to wait: later requests wait behind it. */
  const waiting = new Set<number | string>();

  function admit(admission: Admission): AdmissionResult {
    if (admission.notBilled) return hold(admission, { amount: 0 }, []);
    const standings = balances.standingsFor(admission);
    const [first] = standings;
    const bent = first && (stop(admission, standings, asking?.ask) ?? bend(admission, standings, now));
    if (bent) return bent;
    const { offer } = admission;
    if (!first || offer.amount === 0) return hold(admission, offer, standings);
    const queueKey = admission.queueKey ?? admission.projectId;
    const mustQueue = admission.fallenFrom === undefined && waiting.has(queueKey);
    const room = roomIn(standings);
    if (!mustQueue && offer.amount <= room) return hold(admission, offer, standings);
    const short = shortOfTeam(standings, offer.amount);
    const mayGetMore = short && !mustQueue && askTeam(team, short, admission);
    if (!admission.isFinal) return { kind: 'needs_count' };
    if (mayGetMore) {
      waiting.add(queueKey);
      return { kind: 'wait', standing: short };
    }
    const fitted = mustQueue ? undefined : offer.fitInto?.(room);
    if (fitted && fitted.amount <= room) {
      if (offer.isWorthCounting?.(fitted, room)) return { kind: 'needs_count' };
      return hold(admission, fitted, standings);
    }
    const full = exhausted(standings, offer.least);
    if (full && mayFitCounted(offer, standings, full)) return { kind: 'needs_count' };
    const shorter = full && !isAlerted(full) ? offer.shorter?.() : undefined;
    if (shorter) return { offer: shorter, ...admit({ ...admission, offer: shorter }) };
    const narrowest = full ?? short ?? tightest(standings);
    if (admission.hasOthers && isOfTarget(narrowest.budget))
      return { kind: 'elsewhere', standing: narrowest };
    if (full) return asking?.ask(admission, standings, full) ?? block(admission, full);
    if (short?.team?.isCutOff) return { kind: 'unreachable', standing: short };
    waiting.add(queueKey);
    return { kind: 'wait', standing: narrowest };
  }

  function hold(admission: Admission, held: Fit, standings: Standing[], allowed?: NanoUsd): Held {
    const { amount } = held;
    const charges = standings.length === 0 ? [] : balances.reserve(admission, amount);
    journal.open(slot, admission, { amount, charges }, admission.offer.needOf?.(held));
    if (admission.fallenFrom !== undefined) balances.fallBack(admission.projectId, admission.fallenFrom);
    if (team)
      for (const each of standings) if (each.team) team.asked(each.budget.id, amount, roomOf(each) - amount);
    const figures = { remaining: remainingAfter(standings, amount), spentOfCap: spentOfCap(standings) };
    return { kind: 'held', amount, ...figures, allowed, fit: held === admission.offer ? undefined : held };
  }

  function block(admission: Admission, full: Standing): AdmissionResult {
    const { offer } = admission;
    const record = offer.blockedRecord();
    record.detail = { ...record.detail, ...blockedDetail(full) };
    announce(options, admission, offer, full, writeRecord(record));
    return { kind: 'blocked', standing: full };
  }

  function readmit(next: Readmission): ReadmissionResult {
    const hold = journal.holdOf(next.id);
    if (!hold) return { kind: 'resolved_before' };
    const { standings, before } = moveOn(balances, next, hold);
    const fit = affordable(next, standings, before);
    const total = next.spent + (fit?.amount ?? 0);
    const charges = balances.reserve(next, total, before);
    journal.reopen(slot, next, { amount: total, charges }, fit && next.needOf?.(fit));
    if (!fit) return refuse(next, standings, before);
    const remaining = remainingAfter(counting(standings, before), total);
    return { kind: 'held', amount: total, remaining, fit: fit === next ? undefined : fit };
  }

  function refuse(next: Readmission, standings: Standing[], before?: PartBefore): ReadmissionResult {
    const { spent, least = 0, small } = next;
    const full = exhaustedBy(next, standings, before);
    if (full) announce(options, next, { least: spent + least, small }, full);
    return { kind: 'refused', standing: full ?? tightest(standings) };
  }

  return { admit, look: asking?.look ?? admit, readmit, endBatch: () => waiting.clear() };
}

/** A request that is too large, or of a model that is too dear, doesn't exceed a budget that has money for others. */
function announce(
  { team, balances, emitBlocked }: Pick<AdmissionsOptions, 'team' | 'balances' | 'emitBlocked'>,
  head: RequestHead,
  { least, small = least }: BlockedNeed,
  full: Standing,
  fold?: RefusalFold,
): void {
  const isSpent = isSpentFor(full, small);
  if (isSpent && full.team) team?.refused(full.budget.id, small);
  else if (isSpent && unspentOf(full) < small) balances.exceed(head.projectId, full.budget.id);
  emitBlocked(head.projectId, blockedData(head, least, full), fold);
}

/** What becomes of a request whose session is taken for a runaway; undefined: its budgets let it pass. */
function stop(
  admission: Admission,
  standings: Standing[],
  ask: ReturnType<typeof createAsking<Admission, AdmissionResult>>['ask'] | undefined,
): AdmissionResult | undefined {
  if (!admission.runaway?.()) return undefined;
  const blocks = standings.find(({ budget }) => budget.runaway === 'block');
  if (blocks) return { kind: 'runaway', standing: blocks };
  const asks = standings.find(asksOfRunaways);
  if (!asks) return undefined;
  if (!admission.isFinal) return { kind: 'needs_count' };
  return ask?.(admission, standings, asks) ?? { kind: 'runaway', standing: asks };
}

/** What becomes of a request that is to go to a cheaper model, or lacks room there; undefined: it may be held. */
function bend(admission: Admission, standings: Standing[], now: () => number): AdmissionResult | undefined {
  const { mayFallBack, fallenFrom, isFinal, offer } = admission;
  const { amount, whole = amount, unpriced } = offer;
  const isFallen = fallenFrom !== undefined;
  if (unpriced) return { kind: isFallen ? 'elsewhere' : 'unpriced', standing: tightest(standings) };
  if (amount === 0) return undefined;
  if (isFallen && whole > roomIn(standings))
    return isFinal ? { kind: 'elsewhere', standing: tightest(standings) } : { kind: 'needs_count' };
  if (!mayFallBack) return undefined;
  const at = { before: mayFallBack.before, now: now() };
  const bent = standings.filter((each) => fallsBack(each, whole, at));
  const [first] = bent;
  if (!first) return undefined;
  // A count of the input may show that there is room.
  if (!isFinal && !bent.some((each) => fallsBack(each, 0, at))) return { kind: 'needs_count' };
  return admission.hasOthers && isOfTarget(first.budget)
    ? { kind: 'elsewhere', standing: first }
    : { kind: 'fallback', standings: bent };
}

/**
 * Asks the authority for what a request lacks, and returns whether it may well grant all of it: then the request waits
 * for that instead of having its output cut.
 */
function askTeam(
  hooks: TeamHooks | undefined,
  { budget, team, ...standing }: Standing,
  { offer: { amount, least } }: Admission,
): boolean {
  if (!team) return false;
  const lacking = amount - roomOf({ budget, team, ...standing });
  const mayGrant = team.leftNanoUsd >= lacking || !team.isFresh;
  hooks?.short(budget.id, mayGrant ? amount : least);
  return mayGrant && team.unreachableSince === undefined && !team.frozen;
}

function mayFitCounted({ leastIfCounted }: Offer, standings: Standing[], full: Standing): boolean {
  const least = leastIfCounted?.(isAlerted(full));
  return least !== undefined && !exhausted(standings, least);
}

/** Room of the tightest budget once an amount is held in all of them; null without budgets. */
const remainingAfter = (standings: Standing[], held: NanoUsd): NanoUsd | null =>
  standings.length > 0 ? remainingIn(standings) - held : null;

/** Releases the hold of a request, and books what it cost so far in the budgets of a target that it leaves. */
function moveOn(
  balances: Pick<Balances, 'standingsFor' | 'post' | 'leave'>,
  next: Readmission,
  hold: Hold,
): { standings: Standing[]; before: PartBefore | undefined } {
  if (hold.charges.length > 0) balances.post(next.projectId, hold.charges, hold.amount, 0);
  const standings = balances.standingsFor(next);
  const left = hold.charges.filter(([id]) => standings.every(({ budget }) => budget.id !== id));
  if (left.length > 0) balances.leave(next.projectId, left, next.spent);
  return { standings, before: partsBefore(next, hold, standings) };
}

/**
 * The part of a request's cost that each budget doesn't count: what it cost before at targets that the budget is not
 * for. Undefined if all budgets count all of it.
 */
function partsBefore(
  { spent }: Readmission,
  { charges }: Hold,
  standings: Standing[],
): PartBefore | undefined {
  const ofTargets = standings.filter(({ budget }) => isOfTarget(budget));
  if (spent === 0 || ofTargets.length === 0) return undefined;
  const parts = new Map(ofTargets.map(({ budget }) => [budget.id, spent]));
  for (const [id, , before = 0] of charges) if (parts.has(id)) parts.set(id, before);
  return (budgetId) => parts.get(budgetId) ?? 0;
}

type PartBefore = (budgetId: number) => NanoUsd;

/** Limits of the next attempt, with the amount to hold for it; undefined if a budget has no room for it. */
function affordable(
  next: Readmission,
  standings: Standing[],
  before: PartBefore | undefined,
): Fit | undefined {
  if (standings.length === 0) return next;
  if (next.unpriced) return undefined;
  const { allowed } = next;
  const counted = counting(standings, before);
  const room = (allowed === undefined ? roomIn(counted) : roomWith(counted, allowed)) - next.spent;
  if (next.amount === 0 || next.amount <= room) return next;
  const fitted = next.fitInto?.(room);
  return fitted && fitted.amount <= room ? fitted : undefined;
}

/** Standings with more room where a budget doesn't count a part of the request. */
const counting = (standings: Standing[], before: PartBefore | undefined): Standing[] =>
  before ? standings.map((each) => ({ ...each, posted: each.posted - before(each.budget.id) })) : standings;

/** The budget that has no room for the least that a request can go on with, even if every open hold is released. */
function exhaustedBy(next: Readmission, standings: Standing[], before?: PartBefore): Standing | undefined {
  const { least, spent, unpriced } = next;
  if (least === undefined || unpriced) return undefined;
  const full = exhausted(counting(standings, before), spent + least);
  return standings.find(({ budget }) => budget.id === full?.budget.id);
}

/** Which budget had no room, and how it stood. */
function blockedDetail(full: Standing): Record<string, unknown> {
  return {
    budget: budgetName(full.budget),
    budget_cap_usd: usdNumber(capOf(full)),
    budget_spent_usd: usdNumber(spentOf(full)),
    budget_held_usd: usdNumber(full.pending),
    ...teamFigures(full),
  };
}

function blockedData(head: RequestHead, needed: NanoUsd, standing: Standing) {
  const { budget } = standing;
  return {
    budget_id: budgetName(budget),
    ...(budget.repo === '' ? {} : { repo: budget.repo }),
    request_id: formatRequestId(head.id),
    model: head.askedModel,
    estimated_cost_usd: usdNumber(needed),
    remaining_usd: usdNumber(Math.max(0, unspentOf(standing))),
    cap_usd: usdNumber(capOf(standing)),
    spent_usd: usdNumber(spentOf(standing)),
    ...teamFigures(standing),
  };
}
