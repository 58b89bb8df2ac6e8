import { Argument, type Command, Option } from 'commander';
import { formatUsd } from '../../money.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { findProject, getProject, projectIds } from '../../store/accounts/projects.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import {
  type BudgetKey,
  type BudgetPeriod,
  budgetLabel,
  budgetName,
  listBudgets,
  removeBudget,
  type Standing,
  setBudget,
} from '../../store/budgets/budgets.ts';
import { isOver } from '../../store/budgets/forecast.ts';
import { capText } from '../../terminal/budget-words.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { mustAttribute, noteAttribution } from '../budgets/attribution.ts';
import { readAmount, readOldRepo, readPercent, readRate, readRepo } from '../budgets/read.ts';
import { budgetTable } from '../budgets/view.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import {
  type Confirmed,
  listRemoteTerms,
  removeRemoteBudget,
  setRemoteBudget,
  type Terms,
} from '../remote/budgets.ts';
import { remoteOf } from '../remote/connection.ts';
import { settingsAndCalendar } from '../settings.ts';
import { optionalProject, withStore } from '../with-store.ts';

const PERIODS = ['daily', 'monthly', 'rolling'] as const;

interface SetOptions {
  project: string;
  repo?: string;
  period: 'daily' | 'monthly';
  alert?: string;
  maxRate?: string;
  json?: boolean;
}

interface RemoveOptions {
  project: string;
  period?: BudgetPeriod;
  repo?: string;
}

interface ViewOptions {
  project?: string;
  repo?: string;
  json?: boolean;
  ascii?: boolean;
}

export const budget: SetUp = (command, context) => {
  command
    .command('set')
    .addArgument(new Argument('[amount]', 'cap in dollars, such as 20 or 0.50'))
    .description('cap what a project may spend; requests beyond it are refused')
    .option('-p, --project <name>', 'project', DEFAULT_PROJECT)
    .addOption(
      new Option('--period <period>', 'when spending starts again from zero')
        .choices(['daily', 'monthly'])
        .default('daily'),
    )
    .option('--alert <percent>', 'percentage of the cap that sends the alert (default: 80)')
    .option('--repo <path>', 'cap only requests from this git repository, such as .')
    .option('--max-rate <amount/time>', 'cap in a sliding window instead: 2/hour, 0.50/10m')
    .option('--json', 'print JSON')
    .action((amount: string | undefined, options: SetOptions) => set(context, amount, options));
  addViewOptions(
    command.command('list').description('show what is spent, held and left, with a forecast'),
  ).action(async (options: ViewOptions) => void (await show(context, options)));
  addViewOptions(
    command
      .command('check')
      .description('list budgets, and exit with code 6 if one is full: for scripts and CI'),
  ).action((options: ViewOptions) => check(context, options));
  command
    .command('remove')
    .addArgument(
      new Argument('[budget]', 'name shown by gw budget list, such as web/daily or default/monthly@app'),
    )
    .description('remove a budget')
    .option('-p, --project <name>', 'project', DEFAULT_PROJECT)
    .addOption(
      new Option('--period <period>', 'which budget; optional if there is only one').choices(PERIODS),
    )
    .option('--repo <path>', 'the budget of this git repository')
    .action((name: string | undefined, options: RemoveOptions) => remove(context, name, options));
};

function addViewOptions(command: Command): Command {
  return command
    .option('-p, --project <name>', 'only this project')
    .option('--repo <path>', 'only budgets that count requests from this git repository')
    .option('--json', 'print JSON, as GET /v1/budgets returns it')
    .option('--ascii', 'no block characters');
}

async function set(context: Context, amount: string | undefined, options: SetOptions): Promise<void> {
  const { calendar } = settingsAndCalendar(context);
  const now = context.clock.now();
  const remote = remoteOf(context);
  if (options.repo !== undefined && !remote) mustAttribute(context);
  const repo = options.repo === undefined ? {} : { repo: readRepo(options.repo) };
  const alert = options.alert === undefined ? {} : { alertPercent: readPercent(options.alert) };
  const settings = { ...termsOf(amount, options), ...alert, ...repo };
  const { answer, confirmed } = remote
    ? await setRemoteBudget(remote.ask, options.project, settings)
    : await withStore(context, async (db) => {
        const project = await getProject(db, options.project);
        const standing = await setBudget(db, project, settings, { calendar, now });
        return { answer: budgetResponse(standing, now, { nano: true }), confirmed: standing };
      });
  if (options.json) sayJson(context, answer);
  else note(context, confirmation(confirmed, calendar.timezone, now));
}

function termsOf(amount: string | undefined, { period, maxRate }: SetOptions) {
  if (maxRate !== undefined && amount !== undefined) {
    throw usageError(`give an amount or --max-rate, not both: gw budget set --max-rate ${maxRate}`);
  }
  if (maxRate !== undefined) return { period: 'rolling' as const, ...readRate(maxRate) };
  if (amount === undefined)
    throw usageError('missing amount. For example: gw budget set 5   or: gw budget set --max-rate 2/hour');
  return { period, capNanoUsd: readAmount(amount) };
}

function confirmation({ budget: terms, posted, resetsAt }: Confirmed, timezone: string, now: number): string {
  const until = createTimeFormat(timezone).moment(resetsAt, now);
  // A reset does not reopen a cap of $0.
  const resets =
    terms.period === 'rolling' || terms.capNanoUsd === 0 ? '' : `, resets ${until} (${timezone})`;
  const counts =
    terms.repo === '' ? '' : ` It counts requests of project ${terms.projectName} from ${terms.repo}.`;
  return `Budget ${budgetName(terms)}: ${formatUsd(posted)} spent of ${capText(terms)}, alert at ${terms.alertPercent}%${resets}. It applies from the next request.${counts}`;
}

async function show(context: Context, options: ViewOptions): Promise<Standing[]> {
  const { calendar } = settingsAndCalendar(context);
  const now = context.clock.now();
  const repo = options.repo === undefined ? undefined : readOldRepo(options.repo);
  const all = await withStore(context, async (db) => {
    const only = optionalProject(db, options.project);
    return listBudgets(db, only === undefined ? projectIds(db) : [only], { calendar, now });
  });
  const standings = all.filter(({ budget }) => repo === undefined || ['', repo].includes(budget.repo));
  if (options.json) {
    sayJson(
      context,
      standings.map((standing) => budgetResponse(standing, now, { nano: true })),
    );
  } else if (standings.length === 0) {
    note(context, 'No budgets: spending is not limited. To cap it at $5 a day: gw budget set 5');
  } else {
    const terminal = terminalOf(context.stdout, context.env, options);
    say(context, budgetTable(standings, { terminal, timezone: calendar.timezone, now }));
    if (standings.some(({ budget }) => budget.repo !== '')) noteAttribution(context);
  }
  return standings;
}

async function check(context: Context, options: ViewOptions): Promise<void> {
  const full = (await show(context, options)).filter(isOver).map((standing) => budgetName(standing.budget));
  if (full.length > 0) throw new CliError(`over budget: ${full.join(', ')}`, EXIT.overBudget);
}

async function remove(context: Context, name: string | undefined, options: RemoveOptions): Promise<void> {
  if (name !== undefined && (options.period !== undefined || options.repo !== undefined)) {
    throw usageError(`give a name or options, not both: gw budget remove ${name}`);
  }
  const project = name === undefined ? options.project : undefined;
  const select = (budgets: Terms[]) =>
    name === undefined ? matchingBudget(budgets, options) : namedBudget(budgets, name);
  const remote = remoteOf(context);
  const removed = remote
    ? select(await listRemoteTerms(remote.ask, project))
    : await removeLocal(context, project, select);
  if (remote) await removeRemoteBudget(remote.ask, removed);
  note(context, `Removed budget ${budgetName(removed)}.`);
}

function removeLocal(
  context: Context,
  project: string | undefined,
  select: (budgets: Terms[]) => BudgetKey,
): Promise<BudgetKey> {
  const { calendar } = settingsAndCalendar(context);
  const now = context.clock.now();
  return withStore(context, async (db) => {
    const projects = project === undefined ? projectIds(db) : [findProject(db, project)];
    const selected = select((await listBudgets(db, projects, { calendar, now })).map(({ budget }) => budget));
    const { projectName, period, repo = '', scopeKind, scopeValue = '' } = selected;
    const scope = scopeKind ? { kind: scopeKind, value: scopeValue } : undefined;
    await removeBudget(db, await getProject(db, projectName), { period, repo, scope }, now);
    return selected;
  });
}

/** The budget of a full name, or of the short one that lists show for a repository's budget. */
function namedBudget(budgets: Terms[], name: string): BudgetKey {
  const exact = budgets.filter((each) => budgetName(each) === name);
  const match = onlyOne(exact.length > 0 ? exact : budgets.filter((each) => budgetLabel(each) === name));
  if (!match) throw new CliError(`no budget "${name}". See: gw budget list`, EXIT.notFound);
  return match;
}

/** The budget that the options select; a key that no budget has when none matches. */
function matchingBudget(budgets: Terms[], options: RemoveOptions): BudgetKey {
  const { project, period } = options;
  const repo = options.repo === undefined ? undefined : readOldRepo(options.repo);
  // A period without a repository selects the project's own budget.
  const wantedRepo = repo ?? (period === undefined ? undefined : '');
  const matches = budgets.filter(
    (each) =>
      each.scopeKind === '' &&
      (period === undefined || each.period === period) &&
      (wantedRepo === undefined || each.repo === wantedRepo),
  );
  return onlyOne(matches) ?? { projectName: project, period: period ?? 'daily', repo: repo ?? '' };
}

function onlyOne(matches: Terms[]): Terms | undefined {
  if (matches.length < 2) return matches[0];
  const commands = matches.map((each) => `\n  ${removalOf(each)}   # ${capText(each)}`);
  throw usageError(`${matches.length} budgets match. Choose one:${commands.join('')}`);
}

function removalOf({ projectName, period, repo = '' }: BudgetKey): string {
  const ofRepo = repo === '' ? '' : ` --repo ${singleQuoted(repo)}`;
  return `gw budget remove --period ${period} -p ${projectName}${ofRepo}`;
}
