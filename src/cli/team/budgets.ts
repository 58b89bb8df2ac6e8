import { Option } from 'commander';
import { formatUsd, usdNumber } from '../../money.ts';
import { budgetName, type TeamBudgetKey, teamBudgetOf } from '../../store/ledger/terms.ts';
import type { TeamBudgetStanding } from '../../team/authority.ts';
import { right } from '../../terminal/table.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { readAmount, readPercent } from '../budgets/read.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { printList } from '../print-list.ts';
import { type AdminOptions, addAdminOptions, noSuch, withTeam } from './connection.ts';

const PERIODS = ['daily', 'monthly'] as const;

export const addBudgetCommands: SetUp = (command, context) => {
  addAdminOptions(
    command.command('list', { isDefault: true }).description('show what is spent, granted and left'),
  ).action((options) => list(context, options));
  set(command, context);
  addAdminOptions(command.command('remove').description('remove a budget'))
    .argument('[budget]')
    .option('-p, --project <name>', 'the budget of this project')
    .addOption(period())
    .action(async (given, options) => {
      const key = keyOf(given, options);
      const name = nameOf(key);
      const removed = await withTeam(context, options, (admin) => admin.removeBudget(key));
      if (!removed) throw noSuch('budget', name, 'gw team budgets');
      if (options.json) sayJson(context, { id: name, deleted: true });
      else note(context, `Removed budget ${name}.`);
    });
};

const period = () =>
  new Option('--period <period>', 'when spending starts again from zero (default: daily)').choices(PERIODS);

async function list(context: Context, options: AdminOptions): Promise<void> {
  const { budgets, timezone } = await withTeam(context, options, (admin) => admin.budgets());
  const times = createTimeFormat(timezone);
  const now = context.clock.now();
  const money = (header: string, amount: (budget: TeamBudgetStanding) => number) =>
    right(header, (budget: TeamBudgetStanding) => formatUsd(amount(budget)));
  printList<TeamBudgetStanding>(
    context,
    budgets,
    [
      { header: 'budget', value: nameOf, shrinks: true },
      money('cap', ({ capNanoUsd }) => capNanoUsd),
      money('spent', ({ spentNanoUsd }) => spentNanoUsd),
      money('on gateways', outOf),
      money('left', leftOf),
      { header: 'resets', value: ({ ends }) => times.moment(ends, now) },
      { header: 'offline', value: offlineText },
      { header: '', value: ({ isStarved }) => (isStarved ? 'requests wait for money' : ''), shrinks: true },
    ],
    {
      json: options.json,
      data: budgets.map(budgetView),
      empty: 'The team has no budgets. To set one: gw team budgets set 50',
    },
  );
  if (!options.json) for (const budget of budgets) noteOverCap(context, budget);
}

const set: SetUp = (command, context) =>
  addAdminOptions(command.command('set').description('cap what the team, or one project of it, may spend'))
    .argument('<amount>')
    .argument('[budget]')
    .option('-p, --project <name>', 'only requests of this project (default: all of the team)')
    .addOption(period())
    .option('--alert <percents>', 'percentages of the cap that send alerts, such as 50,80,95')
    .option('--offline <refuse|spend:AMOUNT>', "what each gateway may spend while it can't reach the team")
    .action(async (amount, name, { alert, offline, ...options }) => {
      const terms = {
        capNanoUsd: readAmount(amount),
        alertPercents: alert?.split(',').map(readPercent),
        offlineNanoUsd: offline === undefined ? undefined : readOffline(offline),
      };
      const key = keyOf(name, options);
      const budget = await withTeam(context, options, (admin) => admin.setBudget({ ...key, ...terms }));
      if (options.json) sayJson(context, budgetView(budget));
      note(
        context,
        `Budget ${nameOf(budget)}: ${formatUsd(budget.spentNanoUsd)} spent of ${formatUsd(budget.capNanoUsd)}. Gateways grant by it from their next sync, seconds from now.`,
      );
      noteOverCap(context, budget);
    });

/** The budget of a name as lists show it, or of the options. */
function keyOf(
  name: string | undefined,
  { project, period }: { project?: string; period?: 'daily' | 'monthly' },
): TeamBudgetKey {
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

/** Tells of money that was granted before the cap was lowered, because the gateways may spend it. */
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
