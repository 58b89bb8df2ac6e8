import { formatUsd, usdNumber } from '../../money.ts';
import { budgetName, type TeamBudgetKey, teamBudgetOf } from '../../store/ledger/terms.ts';
import type { TeamBudgetStanding } from '../../team/authority.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { readAmount, readPercent } from '../budgets/read.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { type AdminOptions, noSuch, withTeam } from './connection.ts';

export interface BudgetOptions extends AdminOptions {
  project?: string;
  period?: 'daily' | 'monthly';
  alert?: string;
  offline?: string;
}

export async function listBudgets(context: Context, options: AdminOptions): Promise<void> {
  const { budgets, timezone } = await withTeam(context, options, (admin) => admin.budgets());
  if (options.json) {
    sayJson(context, budgets.map(budgetView));
    return;
  }
  if (budgets.length === 0) {
    note(context, 'The team has no budgets. To set one: gw team budgets set 50');
    return;
  }
  const times = createTimeFormat(timezone);
  const now = context.clock.now();
  const money = (amount: (budget: TeamBudgetStanding) => number) => (budget: TeamBudgetStanding) =>
    formatUsd(amount(budget));
  const lines = table<TeamBudgetStanding>(
    budgets,
    [
      { header: 'budget', value: nameOf, shrinks: true },
      { header: 'cap', value: money(({ capNanoUsd }) => capNanoUsd), align: 'right' },
      { header: 'spent', value: money(({ spentNanoUsd }) => spentNanoUsd), align: 'right' },
      { header: 'on gateways', value: money(outOf), align: 'right' },
      { header: 'left', value: money(leftOf), align: 'right' },
      { header: 'resets', value: ({ ends }) => times.moment(ends, now) },
      { header: 'offline', value: offlineText },
      { header: '', value: ({ isStarved }) => (isStarved ? 'requests wait for money' : ''), shrinks: true },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
  for (const budget of budgets) noteOverCap(context, budget);
}

export async function setBudget(
  context: Context,
  amount: string,
  name: string | undefined,
  options: BudgetOptions,
): Promise<void> {
  const capNanoUsd = readAmount(amount);
  const alertPercents = options.alert?.split(',').map(readPercent);
  const offlineNanoUsd = options.offline === undefined ? undefined : readOffline(options.offline);
  const { json } = options;
  const { period, project } = keyOf(name, options);
  const budget = await withTeam(context, options, (admin) =>
    admin.setBudget({ project, period, capNanoUsd, alertPercents, offlineNanoUsd }),
  );
  if (json) sayJson(context, budgetView(budget));
  note(
    context,
    `Budget ${nameOf(budget)}: ${formatUsd(budget.spentNanoUsd)} spent of ${formatUsd(budget.capNanoUsd)}. Gateways grant by it from their next sync, seconds from now.`,
  );
  noteOverCap(context, budget);
}

export async function removeBudget(
  context: Context,
  given: string | undefined,
  options: BudgetOptions,
): Promise<void> {
  const { json } = options;
  const { period, project } = keyOf(given, options);
  const name = nameOf({ project, period });
  const removed = await withTeam(context, options, (admin) => admin.removeBudget({ project, period }));
  if (!removed) throw noSuch('budget', name, 'gw team budgets');
  if (json) sayJson(context, { id: name, deleted: true });
  else note(context, `Removed budget ${name}.`);
}

/** The budget of a name as lists show it, or of the options. */
function keyOf(name: string | undefined, { project, period }: BudgetOptions): TeamBudgetKey {
  if (name === undefined) return { project: project ?? '', period: period ?? 'daily' };
  if (project !== undefined || period !== undefined)
    throw usageError(`give a name or options, not both: ${name} is a project and a period already`);
  const key = teamBudgetOf(name);
  if (key) return key;
  throw usageError(`"${name}" is no budget of a team: use a name such as @team/daily or web@team/monthly`);
}

function readOffline(text: string): number | null {
  if (text === 'refuse') return null;
  const amount = /^spend:(.+)$/.exec(text)?.[1];
  if (amount === undefined)
    throw usageError(`--offline "${text}": use refuse, or spend:AMOUNT such as spend:2`);
  return readAmount(amount);
}

const nameOf = ({ project, period }: Pick<TeamBudgetStanding, 'project' | 'period'>) =>
  budgetName({ projectName: '', period, scopeKind: 'team', scopeValue: project });

const outOf = ({ allocatedNanoUsd, spentNanoUsd }: TeamBudgetStanding) =>
  Math.max(0, allocatedNanoUsd - spentNanoUsd);
const leftOf = ({ capNanoUsd, allocatedNanoUsd }: TeamBudgetStanding) =>
  Math.max(0, capNanoUsd - allocatedNanoUsd);
const offlineText = ({ offlineNanoUsd }: TeamBudgetStanding) =>
  offlineNanoUsd === null ? 'refuse' : `spend ${formatUsd(offlineNanoUsd)}`;

/** Granted before the cap was lowered: said, because the gateways may spend it. */
function noteOverCap(context: Context, budget: TeamBudgetStanding): void {
  if (budget.allocatedNanoUsd <= budget.capNanoUsd) return;
  note(
    context,
    `${nameOf(budget)}: cap ${formatUsd(budget.capNanoUsd)}; ${formatUsd(budget.spentNanoUsd)} spent; ${formatUsd(outOf(budget))} still on ${budget.holders} gateways, which may spend it or return it.`,
  );
}

function budgetView(budget: TeamBudgetStanding) {
  const money = (name: string, amount: number | null) => ({
    [`${name}_usd`]: amount === null ? null : usdNumber(amount),
    [`${name}_nano_usd`]: amount,
  });
  return {
    object: 'team_budget',
    id: nameOf(budget),
    project_id: budget.project === '' ? null : budget.project,
    period: budget.period,
    ...money('cap', budget.capNanoUsd),
    ...money('spent', budget.spentNanoUsd),
    ...money('granted', outOf(budget)),
    ...money('team_left', leftOf(budget)),
    ...money('offline', budget.offlineNanoUsd),
    alert_percents: budget.alertPercents,
    holders: budget.holders,
    starved: budget.isStarved,
    resets_at: new Date(budget.ends).toISOString(),
  };
}
