import { formatRequestId } from '../../ids.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import {
  type AskResult,
  type AskRows,
  type AskTerms,
  asksOfRunaways,
  createAsking,
  type RunawayResult,
  roomWith,
} from './asks.ts';
import type { Balances } from './balances.ts';
import type { EmitEvent } from './events.ts';
import type { Hold, Journal, RequestHead } from './journal.ts';
import type { RecordedNeed, RequestRecord } from './record.ts';
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
  /** Worst-case cost. */
  amount: NanoUsd;
  /** The lowest worst case that is of use: that of the minimum output, if the output may be cut. */
  least: NanoUsd;
  /** What a small request at the same price can cost: a budget that is too far spent to pay for it is exceeded. Default: `least`. */
  small?: NanoUsd;
  /** The worst case when the output is cut to what `room` affords; undefined if that is too little to be of use. */
  fitInto?: (room: NanoUsd) => NanoUsd | undefined;
  /** Whether what `fitInto` has just left of the output is too short to be taken before the input is counted. */
  isWorthCounting?: (room: NanoUsd) => boolean;
  /**
   * Lowers `least` and what `fitInto` goes down to, to the shortest answers that can be of use. Returns whether that is
   * new. Asked for where the request would be refused before the owner has had an alert.
   */
  cutShorter?: () => boolean;
  /** The parts of the amount that is held in the end; undefined without a known price. */
  needOf?: (held: NanoUsd) => RecordedNeed | undefined;
  /** The cost can't be bounded: `amount` is 0, and only a request that no budget counts is admitted. */
  unpriced?: boolean;
  /** The queue that the request waits in: its project, or its repository where that has budgets of its own. */
  queueKey?: number | string;
  /** False for a first try with a loose bound: where that has no room, nothing is decided. */
  isFinal: boolean;
  /**
   * The lowest worst case that a count of the input may yet show. Nothing is decided where `least` has no room in this
   * period and this has. Worked out when a refusal asks for it; `isAlerted`: the budget's first alert is out.
   */
  leastIfCounted?: (isAlerted: boolean) => NanoUsd | undefined;
  /** The worst case with its own output limit, or else with enough output. Default: `amount`. */
  whole?: NanoUsd;
  /** A budget with cheaper models may send it there. `before`: the one that sent its conversation there. */
  mayFallBack?: { before: FallenConversation | undefined } | undefined;
  /** The budget that has sent it to this cheaper model, where it goes whole or not at all. */
  fallenFrom?: number | undefined;
  /** Other targets can serve it: where a budget of this one has no room, nothing is decided. */
  hasOthers?: boolean;
  /** The record to write if the request is blocked. */
  blockedRecord: () => RequestRecord;
  /**
   * Lowers the amounts while the request waits, if better bounds are known by now. Returns false if it needed no look at
   * the prompt: nothing was learned since.
   */
  requote?: () => boolean;
  /** Why its session is taken for a runaway, as long as it is: budgets may refuse it, or ask about it. */
  runaway?: (() => string | undefined) | undefined;
  /** Terms of a question to the owner, if the budgets without room ask; undefined: nobody is asked. */
  asking?: AskTerms | undefined;
}

interface Held {
  kind: 'held';
  amount: NanoUsd;
  remaining: NanoUsd | null;
  spentOfCap: number;
  /** Amount that the owner has approved beyond the caps of budgets that ask. */
  allowed: NanoUsd | undefined;
}

export type AdmissionResult =
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
    Pick<Admission, 'amount' | 'small' | 'fitInto' | 'needOf' | 'unpriced'> {
  /** Cost of its attempts so far, or an upper bound of it. */
  spent: NanoUsd;
  /** As of an admission, for the last attempt that is left: with no room in this period the request is blocked. */
  least?: NanoUsd;
  /** `allowed` of its first hold. */
  allowed?: NanoUsd | undefined;
}

export type ReadmissionResult =
  /** `amount` is held: what was spent plus the next attempt's worst case. */
  | { kind: 'held'; amount: NanoUsd; remaining: NanoUsd | null }
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
interface BlockedNeed {
  needed: NanoUsd;
  small: NanoUsd | undefined;
}

/** Decides who may run. Each function runs within a batch; after `endBatch`, those who wait may find room that was freed. */
export function createAdmissions(options: AdmissionsOptions) {
  const { slot, balances, journal, writeRecord, emitBlocked, team, asks, now } = options;
  const asking =
    asks && createAsking<Admission, AdmissionResult>({ ...asks, ...balances, now, admit, hold, block });
  /** Queues in which a request of this batch has to wait: later requests wait behind it. */
  const waiting = new Set<number | string>();

  function admit(admission: Admission): AdmissionResult {
    if (admission.notBilled) return hold(admission, 0, []);
    const standings = balances.standingsFor(admission);
    const [first] = standings;
    const bent = first && (stop(admission, standings, asking?.ask) ?? bend(admission, standings, now));
    if (bent) return bent;
    if (!first || admission.amount === 0) return hold(admission, admission.amount, standings);
    const queueKey = admission.queueKey ?? admission.projectId;
    const mustQueue = admission.fallenFrom === undefined && waiting.has(queueKey);
    const room = roomIn(standings);
    if (!mustQueue && admission.amount <= room) return hold(admission, admission.amount, standings);
    const short = shortOfTeam(standings, admission.amount);
    const mayGetMore = short && !mustQueue && askTeam(team, short, admission);
    if (!admission.isFinal) return { kind: 'needs_count' };
    if (mayGetMore) {
      waiting.add(queueKey);
      return { kind: 'wait', standing: short };
    }
    const fitted = mustQueue ? undefined : admission.fitInto?.(room);
    if (fitted !== undefined && fitted <= room) {
      if (admission.isWorthCounting?.(room)) return { kind: 'needs_count' };
      return hold(admission, fitted, standings);
    }
    const full = exhausted(standings, admission.least);
    if (full && mayFitCounted(admission, standings, full)) return { kind: 'needs_count' };
    if (full && !isAlerted(full) && admission.cutShorter?.()) return admit(admission);
    const narrowest = full ?? short ?? tightest(standings);
    if (admission.hasOthers && isOfTarget(narrowest.budget))
      return { kind: 'elsewhere', standing: narrowest };
    if (full) return asking?.ask(admission, standings, full) ?? block(admission, full);
    if (short?.team?.isCutOff) return { kind: 'unreachable', standing: short };
    waiting.add(queueKey);
    return { kind: 'wait', standing: narrowest };
  }

  function hold(admission: Admission, amount: NanoUsd, standings: Standing[], allowed?: NanoUsd): Held {
    const charges = standings.length === 0 ? [] : balances.reserve(admission, amount);
    journal.open(slot, admission, { amount, charges }, admission.needOf?.(amount));
    if (admission.fallenFrom !== undefined) balances.fallBack(admission.projectId, admission.fallenFrom);
    if (team)
      for (const each of standings) if (each.team) team.asked(each.budget.id, amount, roomOf(each) - amount);
    const figures = { remaining: remainingAfter(standings, amount), spentOfCap: spentOfCap(standings) };
    return { kind: 'held', amount, ...figures, allowed };
  }

  function block(admission: Admission, full: Standing): AdmissionResult {
    const record = admission.blockedRecord();
    record.detail = { ...record.detail, ...blockedDetail(full) };
    announce(admission, { needed: admission.least, small: admission.small }, full, writeRecord(record));
    return { kind: 'blocked', standing: full };
  }

  /** A request that is too large, or of a model that is too dear, doesn't exceed a budget that has money for others. */
  function announce(head: RequestHead, need: BlockedNeed, full: Standing, fold?: RefusalFold): void {
    const { needed, small = needed } = need;
    const isSpent = isSpentFor(full, small);
    if (isSpent && full.team) team?.refused(full.budget.id, small);
    else if (isSpent && unspentOf(full) < small) balances.exceed(head.projectId, full.budget.id);
    emitBlocked(head.projectId, blockedData(head, needed, full), fold);
  }

  function readmit(next: Readmission): ReadmissionResult {
    const hold = journal.holdOf(next.id);
    if (!hold) return { kind: 'resolved_before' };
    const { standings, before } = moveOn(balances, next, hold);
    const amount = affordable(next, standings, before);
    const total = next.spent + (amount ?? 0);
    const charges = balances.reserve(next, total, before);
    const need = amount === undefined ? undefined : next.needOf?.(amount);
    journal.reopen(slot, next, { amount: total, charges }, need);
    if (amount === undefined) return refuse(next, standings, before);
    return { kind: 'held', amount: total, remaining: remainingAfter(counting(standings, before), total) };
  }

  function refuse(next: Readmission, standings: Standing[], before?: PartBefore): ReadmissionResult {
    const needed = next.spent + (next.least ?? 0);
    const full = exhaustedBy(next, standings, before);
    if (full) announce(next, { needed, small: next.small }, full);
    return { kind: 'refused', standing: full ?? tightest(standings) };
  }

  return { admit, look: asking?.look ?? admit, readmit, endBatch: () => waiting.clear() };
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
  const { mayFallBack, fallenFrom, isFinal, amount, whole = amount, unpriced } = admission;
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
  { amount, least }: Admission,
): boolean {
  if (!team) return false;
  const lacking = amount - roomOf({ budget, team, ...standing });
  const mayGrant = team.leftNanoUsd >= lacking || !team.isFresh;
  hooks?.short(budget.id, mayGrant ? amount : least);
  return mayGrant && team.unreachableSince === undefined && !team.frozen;
}

function mayFitCounted({ leastIfCounted }: Admission, standings: Standing[], full: Standing): boolean {
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

/** Amount to hold for the next attempt; undefined if a budget has no room for it. */
function affordable(
  next: Readmission,
  standings: Standing[],
  before: PartBefore | undefined,
): NanoUsd | undefined {
  if (standings.length === 0) return next.amount;
  if (next.unpriced) return undefined;
  const { allowed } = next;
  const counted = counting(standings, before);
  const room = (allowed === undefined ? roomIn(counted) : roomWith(counted, allowed)) - next.spent;
  if (next.amount === 0 || next.amount <= room) return next.amount;
  const fitted = next.fitInto?.(room);
  return fitted !== undefined && fitted <= room ? fitted : undefined;
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
