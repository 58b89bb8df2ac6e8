import type { NanoUsd } from '../../money.ts';
import type { BudgetTerms } from './terms.ts';

/** What a budget has spent and holds in its running period or window. */
export interface Standing {
  budget: BudgetTerms;
  posted: NanoUsd;
  pending: NanoUsd;
  /** When the period ends, or the oldest spend leaves the window; Infinity: never. */
  resetsAt: number;
  /** Of a cap for each: the member that the figures are of, which has spent and holds most. */
  fullest?: string;
}

/** A time as JSON has it; null for never. */
export const isoTime = (timeMs: number): string | null =>
  Number.isFinite(timeMs) ? new Date(timeMs).toISOString() : null;

/** What is left of the cap after spend and open holds. */
const roomOf = ({ budget, posted, pending }: Standing): NanoUsd => budget.capNanoUsd - posted - pending;

/** What is left of the cap after spend alone: open holds may still be released. */
export const unspentOf = ({ budget, posted }: Standing): NanoUsd => budget.capNanoUsd - posted;

/** The room that all of the budgets have; Infinity without budgets. */
export const roomIn = (standings: Standing[]): NanoUsd => Math.min(...standings.map(roomOf));

/** The budget with the least room. */
export const tightest = (standings: Standing[]): Standing => leastBy(standings, roomOf);

/** The largest part of its cap that any of the budgets has spent; 0 without budgets. */
export const spentOfCap = (standings: Standing[]): number =>
  standings.reduce((most, { budget, posted }) => Math.max(most, posted / Math.max(1, budget.capNanoUsd)), 0);

/** A budget that has no room for `needed` even if every open hold is released. */
export function exhausted(standings: Standing[], needed: NanoUsd): Standing | undefined {
  const least = leastBy(standings, unspentOf);
  return needed > unspentOf(least) ? least : undefined;
}

function leastBy(standings: Standing[], value: (standing: Standing) => number): Standing {
  return standings.reduce((least, standing) => (value(standing) < value(least) ? standing : least));
}
