import { badRequest, notFound } from '../../errors.ts';
import { formatUsd, MAX_AMOUNT_NANO_USD, type NanoUsd } from '../../money.ts';
import { DEFAULT_PROJECT, findProject } from '../accounts/projects.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';
import type { Standing } from '../ledger/standing.ts';
import { ALL_PROJECTS, budgetName, teamBudgetOf, teamBudgetText } from '../ledger/terms.ts';
import { type BudgetContext, openBalances } from './budgets.ts';
import { changeMembers } from './members.ts';

export interface Raise {
  /** Its public id, such as `web/daily`. */
  budget: string;
  /** Added to the cap. */
  amountNanoUsd: NanoUsd;
  /** How long; undefined: for good. */
  forMs?: number | undefined;
}

const MIN_RAISE_MS = 60_000;
const MAX_RAISE_MS = 366 * 86_400_000;

/** A project that has the budgets of a name: of several, one of them. */
const projectOf = (db: Db, names: string): number =>
  findProject(db, names === ALL_PROJECTS ? DEFAULT_PROJECT : (names.split(',')[0] ?? ''));

/** As `raiseInPlace`, in a transaction of its own. */
export async function raiseBudget(db: Db, raise: Raise, context: BudgetContext): Promise<Standing> {
  return raiseInPlace(db, raise, context);
}

/**
 * Raises the cap of a budget, for good or for a time. Raises for a time add up, and each ends by itself: the ledger
 * lowers the cap in the first transaction after its end. Throws GwError 400 and 404.
 */
export function raiseInPlace(
  db: Db,
  { budget: name, amountNanoUsd, forMs }: Raise,
  { calendar, now }: BudgetContext,
): Standing {
  if (!Number.isSafeInteger(amountNanoUsd) || amountNanoUsd <= 0)
    throw badRequest('a raise is an amount of more than $0', 'amount_usd');
  if (forMs !== undefined && !(forMs >= MIN_RAISE_MS && forMs <= MAX_RAISE_MS))
    throw badRequest('a raise lasts from a minute to 366 days', 'for_seconds');
  const unknown = () => notFound(`no budget "${name}". See: gw budget list`, 'budget_not_found', 'budget_id');
  const ofTeam = teamBudgetOf(name);
  // A project may be named team.
  const isProject = db.prepare('SELECT 1 FROM projects WHERE name = ? AND removed_at IS NULL').get('team');
  if (ofTeam && (name.includes('@') || !isProject)) throw badRequest(teamBudgetText(ofTeam), 'budget_id');
  return changeConfiguration(db, () => {
    const projectId = projectOf(db, name.split('/')[0] ?? '');
    const read = (balances: ReturnType<typeof openBalances>) => {
      const found = balances.standings(projectId).find(({ budget }) => budgetName(budget) === name);
      if (!found) throw unknown();
      return found;
    };
    const before = openBalances(db, calendar, now);
    const { id, scopeKind, capNanoUsd: cap, capVersion: version } = read(before).budget;
    before.write();
    if (cap + amountNanoUsd > MAX_AMOUNT_NANO_USD)
      throw badRequest(
        `budget ${name} has ${formatUsd(cap)}: with the raise it would have more than ${formatUsd(MAX_AMOUNT_NANO_USD)}`,
        'amount_usd',
      );
    db.prepare(
      'UPDATE budgets SET cap_nano_usd = cap_nano_usd + ?, cap_version = cap_version + 1 WHERE id = ?',
    ).run(amountNanoUsd, id);
    if (forMs !== undefined)
      db.prepare(`INSERT INTO budget_raises (budget_id, amount_nano_usd, until, created_at)
        VALUES (?, ?, ?, ?)`).run(id, amountNanoUsd, now + forMs, now);
    const after = openBalances(db, calendar, now);
    if (scopeKind === 'each') changeMembers(db, after, { id, projectId });
    else after.announce(projectId, id, { version, cap });
    const standing = read(after);
    after.write();
    return standing;
  });
}
