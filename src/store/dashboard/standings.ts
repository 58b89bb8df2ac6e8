import type { Calendar } from '../../calendar.ts';
import type { Db } from '../database/open.ts';
import { IN_PROJECT, prepareFullest, SELECT_TERMS } from '../ledger/balance-rows.ts';
import type { Standing } from '../ledger/standing.ts';
import { createTeamTerms } from '../ledger/team-terms.ts';
import {
  type BudgetTerms,
  type CountedRequest,
  countsRequest,
  memberValue,
  runningPeriod,
} from '../ledger/terms.ts';

const MINUTE_MS = 60_000;

interface Sums {
  posted: number;
  pending: number;
  oldest: number | null;
}

/** Reads how a budget stands by its terms. A cap for each has nothing of its own. */
function createStandingReader(db: Db): (terms: BudgetTerms, calendar: Calendar, now: number) => Standing {
  const selectPeriod = db.prepare<[number, number], Sums>(`
    SELECT posted_nano_usd AS posted, pending_nano_usd AS pending, NULL AS oldest FROM budget_periods
    WHERE budget_id = ? AND start = ?`);
  const selectWindow = db.prepare<{ id: number; from: number }, Sums>(`
    SELECT coalesce(sum(iif(start > @from, posted_nano_usd, 0)), 0) AS posted,
    coalesce(sum(pending_nano_usd), 0) AS pending,
    min(iif(start > @from AND posted_nano_usd > 0, start, NULL)) AS oldest FROM budget_periods
    WHERE budget_id = @id AND (start > @from OR pending_nano_usd > 0)`);
  const selectLimit = db
    .prepare<[number, number], number>(`SELECT limit_nano_usd FROM team_limits WHERE budget_id = ?
      AND start = ?`)
    .pluck();
  const team = createTeamTerms(db);
  const nothing: Sums = { posted: 0, pending: 0, oldest: null };

  function rolling(budget: BudgetTerms, now: number): Standing {
    const lengthMs = (budget.windowMs ?? 0) + MINUTE_MS;
    const { posted, pending, oldest } = selectWindow.get({ id: budget.id, from: now - lengthMs }) ?? nothing;
    return { budget, posted, pending, resetsAt: (oldest ?? now) + lengthMs };
  }

  function ofTeam(terms: BudgetTerms, now: number): Standing {
    team.forget();
    const { start, end } = team.period(terms, now);
    const { posted, pending } = selectPeriod.get(terms.id, start) ?? nothing;
    const budget = { ...terms, currentStart: start, capNanoUsd: selectLimit.get(terms.id, start) ?? 0 };
    return { budget, posted, pending, resetsAt: end, team: team.figures(budget, posted, now) };
  }

  return (terms, calendar, now) => {
    if (terms.teamBudgetId !== null) return ofTeam(terms, now);
    if (terms.period === 'rolling') return rolling(terms, now);
    const { start: currentStart, end: resetsAt } = runningPeriod(terms, now, calendar);
    const { posted, pending } = selectPeriod.get(terms.id, currentStart) ?? nothing;
    return { budget: { ...terms, currentStart }, posted, pending, resetsAt };
  };
}

/**
 * Reads the standings of all budgets without writing: a period that no daemon has entered yet counts as entered, and
 * its reset event is left to the daemon.
 */
export function createStandingsReader(db: Db): (options: { calendar: Calendar; now: number }) => Standing[] {
  const selectTerms = db.prepare<[], BudgetTerms>(`${SELECT_TERMS} WHERE b.removed_at IS NULL
    AND b.parent_id = 0 AND p.removed_at IS NULL ORDER BY p.name, b.id`);
  const standing = createStandingReader(db);
  const selectBudget = db.prepare<[number], BudgetTerms>(`${SELECT_TERMS} WHERE b.id = ?`);
  const fullest = prepareFullest(db);

  /** A cap for each stands as its fullest member. */
  function standingOfEach(terms: BudgetTerms, calendar: Calendar, now: number): Standing {
    const own = standing(terms, calendar, now);
    const from =
      terms.period === 'rolling' ? now - (terms.windowMs ?? 0) - MINUTE_MS : own.budget.currentStart;
    const id = fullest(terms, from);
    const member = id === undefined ? undefined : selectBudget.get(id);
    if (!member) return own;
    return { ...standing(member, calendar, now), budget: own.budget, fullest: member.scopeValue };
  }

  return ({ calendar, now }) =>
    selectTerms
      .all()
      .map((terms) =>
        terms.scopeKind === 'each' ? standingOfEach(terms, calendar, now) : standing(terms, calendar, now),
      );
}

/** Reads the standings of the budgets that count a request of a project. */
export function readStandingsFor(
  db: Db,
  { projectId, request, calendar, now }: StandingsForOptions,
): Standing[] {
  const standing = createStandingReader(db);
  const own = db
    .prepare<{ projectId: number }, BudgetTerms>(`${SELECT_TERMS} WHERE ${IN_PROJECT}`)
    .all({ projectId });
  const selectMember = db.prepare<[number, string], BudgetTerms>(`${SELECT_TERMS} WHERE b.parent_id = ?
    AND b.scope_value = ? AND b.parent_id <> 0 AND b.removed_at IS NULL`);
  const counting = own.filter((terms) => countsRequest(terms, request));
  for (const each of own.filter(({ scopeKind }) => scopeKind === 'each')) {
    const { scopeValue: kind, period, projects } = each;
    const value = memberValue(kind, request);
    const hasOwn = counting.some(
      (terms) => terms.scopeKind === kind && terms.period === period && terms.projects === projects,
    );
    // One without a request yet has all of the cap.
    if (value !== '' && !hasOwn) counting.push(selectMember.get(each.id, value) ?? each);
  }
  return counting.map((terms) => standing(terms, calendar, now));
}

export interface StandingsForOptions {
  projectId: number;
  request: CountedRequest;
  calendar: Calendar;
  now: number;
}
