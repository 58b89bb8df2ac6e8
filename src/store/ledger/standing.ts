import { type NanoUsd, usdNumber } from '../../money.ts';
import type { TeamFigures } from './team-terms.ts';
import { type BudgetTerms, type Fall, isFallen, thresholdOf } from './terms.ts';

/** Spend and holds of a budget in its running period or window. */
export interface Standing {
  budget: BudgetTerms;
  posted: NanoUsd;
  pending: NanoUsd;
  /** When the period ends, or the oldest spend leaves the window; Infinity: never. */
  resetsAt: number;
  /** Fullest member of a per-member cap, whose figures these are. */
  fullest?: string;
  /** Standing of a team budget across gateways. `budget.capNanoUsd` is the limit of this gateway. */
  team?: TeamFigures;
}

/** A time as JSON has it; null for never. */
export const isoTime = (timeMs: number | null | undefined): string | null =>
  timeMs != null && Number.isFinite(timeMs) ? new Date(timeMs).toISOString() : null;

/** Without the repetitions of a team budget, which counts requests of several projects. */
export function distinct(standings: readonly Standing[]): Standing[] {
  const seen = new Set<number>();
  return standings.filter(({ budget: { id } }) => !seen.has(id) && seen.add(id));
}

/** A team budget's limit here and its remaining amount, for lists, refusals and events. */
export function teamFigures({ budget, team }: Standing) {
  if (!team) return {};
  return {
    team: true,
    granted_usd: usdNumber(budget.capNanoUsd),
    team_left_usd: usdNumber(Math.max(0, team.unspentNanoUsd)),
  };
}

/** Cap minus spend and open holds; for a team budget, this gateway's limit instead of the cap. */
export const roomOf = ({ budget, posted, pending, team }: Standing): NanoUsd =>
  budget.capNanoUsd + (team?.isCutOff ? team.reserveNanoUsd : 0) - posted - pending;

/** The cap: of a team budget, the team's. */
export const capOf = ({ budget, team }: Standing): NanoUsd => team?.capNanoUsd ?? budget.capNanoUsd;

/** Cap minus spend alone: open holds may still be released. */
export const unspentOf = ({ budget, posted, team }: Standing): NanoUsd =>
  team ? team.unspentNanoUsd : budget.capNanoUsd - posted;

/** Spend under the cap; for a team budget, that of the whole team. */
export const spentOf = (standing: Standing): NanoUsd => capOf(standing) - unspentOf(standing);

/** Part of the cap that new requests may use: of a team budget, if the other gateways need nothing. */
export const remainingOf = (standing: Standing): NanoUsd => unspentOf(standing) - standing.pending;

/** Room for new requests, as shown to people: not below 0. */
export const leftOf = (standing: Standing): NanoUsd => Math.max(0, remainingOf(standing));

/** The room that all of the budgets have; Infinity without budgets. */
export const roomIn = (standings: Standing[]): NanoUsd => Math.min(...standings.map(roomOf));

/** Room of the tightest budget; Infinity without budgets. */
export const remainingIn = (standings: Standing[]): NanoUsd => Math.min(...standings.map(remainingOf));

/** The budget with the least room. */
export const tightest = (standings: Standing[]): Standing => leastBy(standings, roomOf);

/** The largest part of its cap that any of the budgets has spent; 0 without budgets. */
export const spentOfCap = (standings: Standing[]): number =>
  standings.reduce((most, each) => Math.max(most, spentOf(each) / Math.max(1, capOf(each))), 0);

/** Whether the budget's first alert is out: its share of the cap is spent. */
export const isAlerted = (standing: Standing): boolean =>
  spentOf(standing) >= thresholdOf({ ...standing.budget, capNanoUsd: capOf(standing) });

/** At least this share of a cap is spent before a refusal can show that it is used up; a later first alert too. */
const USED_UP_PERCENT = 80;

/**
 * Whether the spend is what keeps a budget from paying for a request of this cost: the whole cap could, and most of it
 * is spent. A request that is dear beside its cap says nothing of the cap.
 */
export function isSpentFor(standing: Standing, small: NanoUsd): boolean {
  const capNanoUsd = capOf(standing);
  const { alertPercent } = standing.budget;
  const percent = alertPercent < 100 ? Math.max(alertPercent, USED_UP_PERCENT) : USED_UP_PERCENT;
  return (
    capNanoUsd === 0 ||
    (small <= capNanoUsd && spentOf(standing) >= thresholdOf({ capNanoUsd, alertPercent: percent }))
  );
}

/**
 * A budget that has no room for `needed` even if every open hold is released. Of a team budget only the authority can
 * say so, and has to have said so lately.
 */
export function exhausted(standings: readonly Standing[], needed: NanoUsd): Standing | undefined {
  const least = leastBy(standings, (standing) =>
    standing.team?.isFresh === false ? Number.POSITIVE_INFINITY : unspentOf(standing),
  );
  if (least.team?.isFresh === false) return undefined;
  return needed > unspentOf(least) ? least : undefined;
}

/** A conversation that has gone to a cheaper model, and the budget that sent it there. */
export interface FallenConversation extends Fall {
  budgetId: number;
}

/** Whether a budget with cheaper models sends a request there that needs `whole`: beyond its share, or as before. */
export function fallsBack(
  { budget, posted, pending }: Standing,
  whole: NanoUsd,
  { before, now }: { before: FallenConversation | undefined; now: number },
): boolean {
  if (budget.onLimit !== 'fallback') return false;
  if (posted + pending + whole > thresholdOf(budget, budget.fallbackPercent)) return true;
  return before?.budgetId === budget.id && isFallen(budget, before, now);
}

/** The team budget with the least room, if that is less than `needed`. */
export function shortOfTeam(standings: Standing[], needed: NanoUsd): Standing | undefined {
  let short: Standing | undefined;
  for (const standing of standings) {
    if (!standing.team || roomOf(standing) >= needed) continue;
    if (!short || roomOf(standing) < roomOf(short)) short = standing;
  }
  return short;
}

function leastBy(standings: readonly Standing[], value: (standing: Standing) => number): Standing {
  return standings.reduce((least, standing) => (value(standing) < value(least) ? standing : least));
}
