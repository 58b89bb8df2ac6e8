import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';

/** This gateway's account of a team budget in one period. posted + pending never exceeds the limit. */
export interface LimitedAccount {
  /** The team's id of the budget. */
  budgetId: number;
  /** Start of the period, UTC ms. */
  start: number;
  /** Total that this gateway may spend in the period; at most its allowance at the authority. */
  limit: NanoUsd;
  posted: NanoUsd;
  pending: NanoUsd;
  /** The values that the authority last acknowledged; undefined if unsure. */
  heard?: { limit: NanoUsd; posted: NanoUsd } | undefined;
}

/** A budget's running period, as the authority's answer reports it. */
interface HeardStanding {
  budgetId: number;
  start: number;
  ends: number;
  left: NanoUsd;
  unspent: NanoUsd;
  /** Spend of this gateway when it asked. */
  posted: NanoUsd;
  /** Extra amount that may be spent while the authority can't be reached. */
  reserve: NanoUsd;
  tight: boolean;
  starved: boolean;
  active: number;
}

interface Row extends Omit<LimitedAccount, 'heard'> {
  heardLimit: NanoUsd | null;
  heardPosted: NanoUsd | null;
}

/** Reads and writes this gateway's limits. Each function runs within a transaction. */
export function createTeamLimits(db: Db) {
  const select = db.prepare<[], Row>(`
    SELECT b.team_budget_id AS budgetId, k.start, coalesce(l.limit_nano_usd, 0) AS "limit",
    coalesce(p.posted_nano_usd, 0) AS posted, coalesce(p.pending_nano_usd, 0) AS pending,
    l.clean_limit_nano_usd AS heardLimit, l.clean_posted_nano_usd AS heardPosted
    FROM (SELECT budget_id, start FROM team_limits
          UNION SELECT s.budget_id, s.start FROM budget_periods s JOIN budgets t ON t.id = s.budget_id
            WHERE t.team_budget_id IS NOT NULL) k
    JOIN budgets b ON b.id = k.budget_id
    LEFT JOIN team_limits l ON l.budget_id = k.budget_id AND l.start = k.start
    LEFT JOIN budget_periods p ON p.budget_id = k.budget_id AND p.start = k.start
    WHERE b.team_budget_id IS NOT NULL ORDER BY b.team_budget_id, k.start`);
  const upsert = db.prepare(`
    INSERT INTO team_limits (budget_id, start, limit_nano_usd, clean_limit_nano_usd, clean_posted_nano_usd)
    SELECT id, @start, @limit, @heardLimit, @heardPosted FROM budgets WHERE team_budget_id = @budgetId
    ON CONFLICT DO UPDATE SET limit_nano_usd = excluded.limit_nano_usd,
    clean_limit_nano_usd = excluded.clean_limit_nano_usd, clean_posted_nano_usd = excluded.clean_posted_nano_usd`);
  const setCap = db.prepare(`UPDATE budgets SET cap_nano_usd = @limit WHERE team_budget_id = @budgetId
    AND current_start = @start`);
  const setStanding = db.prepare(`
    UPDATE team_standings SET start = @start, ends = @ends, left_nano_usd = @left, unspent_nano_usd = @unspent,
    posted_nano_usd = @posted, reserve_nano_usd = @reserve, tight = @tight, starved = @starved, active = @active, heard_at = @now
    WHERE budget_id = (SELECT id FROM budgets WHERE team_budget_id = @budgetId)`);
  return {
    /** All accounts that have money, or ever had some that the authority must hear of. */
    accounts: (): LimitedAccount[] =>
      select.all().map(({ heardLimit, heardPosted, ...account }) => ({
        ...account,
        heard:
          heardLimit === null || heardPosted === null
            ? undefined
            : { limit: heardLimit, posted: heardPosted },
      })),
    set(changes: readonly Omit<LimitedAccount, 'posted' | 'pending'>[]) {
      for (const { budgetId, start, limit, heard } of changes) {
        const [heardLimit, heardPosted] = [heard?.limit ?? null, heard?.posted ?? null];
        upsert.run({ budgetId, start, limit, heardLimit, heardPosted });
        setCap.run({ budgetId, start, limit });
      }
    },
    /** Call it when another server answers: it may have lost reported figures. */
    forgetHeard() {
      db.prepare('UPDATE team_limits SET clean_limit_nano_usd = NULL, clean_posted_nano_usd = NULL').run();
    },
    setStanding(standing: HeardStanding, now: number) {
      const { tight, starved } = standing;
      setStanding.run({ ...standing, tight: tight ? 1 : 0, starved: starved ? 1 : 0, now });
    },
    /** Nothing granted before may be used: this database is a copy. */
    voidAll() {
      db.prepare('DELETE FROM team_limits').run();
      db.prepare('UPDATE team_standings SET reserve_nano_usd = 0').run();
      db.prepare('UPDATE budgets SET cap_nano_usd = 0 WHERE team_budget_id IS NOT NULL').run();
    },
  };
}
