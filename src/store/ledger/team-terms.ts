import { type Calendar, createCalendar, type Span } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { type BudgetTerms, spanOf } from './terms.ts';

/** Standing of a team budget, as the authority last reported it. */
export interface TeamFigures {
  capNanoUsd: NanoUsd;
  /** The cap, less all that gateways have reported as spent, and less what was spent here since. */
  unspentNanoUsd: NanoUsd;
  /** The cap, less all that is granted to gateways. */
  leftNanoUsd: NanoUsd;
  /** Money is short: gateways return what no request holds. */
  tight: boolean;
  starved: boolean;
  /** Number of gateways that have lately synced. */
  active: number;
  /** UTC ms by this machine; 0: nothing was heard of the running period. */
  heardAt: number;
  /** It was heard so lately that a request may be refused by it. */
  isFresh: boolean;
  /** Since when the authority can't be reached; undefined: it can. */
  unreachableSince: number | undefined;
  /** For so long that requests which lack money no longer wait for it, and the reserve may be spent. */
  isCutOff: boolean;
  /** The authority may have lost commits, and grants nothing until an admin ends that. */
  frozen: boolean;
  /** Extra amount that may be spent while the gateway is cut off. */
  reserveNanoUsd: NanoUsd;
}

/** The periods of team budgets, by the team's clock and time zone, and how they stand. */
export type TeamTerms = ReturnType<typeof createTeamTerms>;

type Membership = Pick<Row<'teamMembership'>, 'timezone' | 'offsetMs' | 'unreachableSince' | 'frozen'>;
type Standing = Omit<Row<'teamStandings'>, 'budgetId'>;

/** An admin may raise a cap while this gateway does not ask. */
const FRESH_MS = 5_000;
/** Requests wait so long for an authority that can't be reached. */
const CUT_OFF_MS = 10_000;

/** `teamNow` is the team's clock of a daemon that syncs; others go by the offset that such a one has stored. */
export function createTeamTerms(db: Db, teamNow?: () => number) {
  const selectMembership = db.prepare<[], Membership>(
    `SELECT timezone, offset_ms AS offsetMs, unreachable_since AS unreachableSince, frozen FROM team_membership`,
  );
  const selectStanding = db.prepare<[number], Standing>(`
    SELECT cap_nano_usd AS capNanoUsd, reserve_nano_usd AS reserveNanoUsd, start, ends, left_nano_usd AS leftNanoUsd,
    unspent_nano_usd AS unspentNanoUsd, posted_nano_usd AS postedNanoUsd, tight, starved, active, heard_at AS heardAt
    FROM team_standings WHERE budget_id = ?`);
  let membership: Membership | undefined;
  let calendar: Calendar | undefined;
  const standings = new Map<number, Standing | undefined>();

  function member(): Membership {
    membership ??= selectMembership.get() ?? {
      timezone: 'UTC',
      offsetMs: 0,
      unreachableSince: null,
      frozen: 0,
    };
    return membership;
  }

  function standingOf(id: number): Standing | undefined {
    if (!standings.has(id)) standings.set(id, selectStanding.get(id));
    return standings.get(id);
  }

  return {
    /** The running period of a team budget, by the team's clock. */
    period({ id, period }: BudgetTerms, now: number): Span {
      const { timezone, offsetMs } = member();
      const at = teamNow?.() ?? now + offsetMs;
      const standing = standingOf(id);
      if (standing && at >= standing.start && at < standing.ends)
        return { start: standing.start, end: standing.ends };
      if (calendar?.timezone !== timezone) calendar = createCalendar(timezone);
      return spanOf(period, at, calendar);
    },
    figures({ id, currentStart }: BudgetTerms, posted: NanoUsd, now: number): TeamFigures {
      const { unreachableSince, frozen } = member();
      const standing = standingOf(id);
      const isCurrent = standing?.start === currentStart;
      const cap = standing?.capNanoUsd ?? 0;
      return {
        capNanoUsd: cap,
        unspentNanoUsd:
          (standing && isCurrent ? standing.unspentNanoUsd : cap) -
          Math.max(0, posted - (standing && isCurrent ? standing.postedNanoUsd : 0)),
        leftNanoUsd: standing && isCurrent ? standing.leftNanoUsd : cap,
        tight: isCurrent && standing?.tight === 1,
        starved: isCurrent && standing?.starved === 1,
        active: standing?.active ?? 0,
        heardAt: isCurrent ? (standing?.heardAt ?? 0) : 0,
        isFresh: isCurrent && Math.abs(now - (standing?.heardAt ?? 0)) < FRESH_MS,
        unreachableSince: unreachableSince ?? undefined,
        isCutOff: unreachableSince !== null && now - unreachableSince >= CUT_OFF_MS,
        frozen: frozen === 1,
        reserveNanoUsd: standing && isCurrent ? standing.reserveNanoUsd : 0,
      };
    },
    /** Forgets what was read: another writer has committed. */
    forget() {
      membership = undefined;
      standings.clear();
    },
  };
}

/**
 * Called by the ledger for team budgets while a batch runs. The batch may yet be rolled back: these are hints of when
 * to ask the authority for how much, and no money depends on them.
 */
export interface TeamHooks {
  /** The team's time, UTC ms. */
  now(): number;
  /** A request holds `amount`, and this gateway may spend `room` beyond that. */
  asked(budgetId: number, amount: NanoUsd, room: NanoUsd): void;
  /** A request needs `amount`, which this gateway doesn't have. */
  short(budgetId: number, amount: NanoUsd): void;
  /** A request was refused that a budget without money for `small` could not pay for. */
  refused(budgetId: number, small: NanoUsd): void;
  /** A request has cost this much. */
  spent(budgetId: number, cost: NanoUsd): void;
}
