import { type Command, Option } from 'commander';
import { CAN_ATTRIBUTE } from '../../attribution/attribution.ts';
import { formatUsd, usdNumber } from '../../money.ts';
import {
  type BudgetName,
  budgetBody,
  budgetNameOf,
  labelScope,
  scopeFromQuery,
  scopeToQuery,
} from '../../operations/budget-scope.ts';
import type { Reader } from '../../operations/registry.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/projects.ts';
import type { Scope } from '../../store/budgets/budgets.ts';
import {
  ALL_PROJECTS,
  type BudgetPeriod,
  budgetLabel,
  budgetName,
  EACH_CHOICES,
  RUNAWAY_ACTIONS,
  teamBudgetOf,
  teamBudgetText,
} from '../../store/ledger/terms.ts';
import { capText } from '../../terminal/budget-words.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { addBacktests } from '../budgets/backtest.ts';
import { confirmation } from '../budgets/confirmation.ts';
import {
  LASTING_PERIODS,
  type LastingPeriod,
  readAlerts,
  readAmount,
  readEachKind,
  readOldRepo,
  readOnLimit,
  readRate,
  readRepo,
} from '../budgets/read.ts';
import { budgetTable } from '../budgets/view.ts';
import { AS_JSON, IN_PROJECT, ONLY_PROJECT, type OptionsOf, type SetUp, UNASKED } from '../command.ts';
import { type Context, note, say, sayJson, screenOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { readDuration } from '../input/values.ts';
import { remoteOf } from '../remote/connection.ts';
import { readSettings } from '../settings.ts';
import { withGateway } from '../with-gateway.ts';

const IN_PROJECTS = ['-p, --project <names>', 'project, or several: web,api', DEFAULT_PROJECT] as const;
const ALL_OF_THEM = ['--all-projects', 'one budget for all projects together, also those to come'] as const;
const PERIODS = [...LASTING_PERIODS, 'rolling'] as const;

export const budget: SetUp = (command, context) => {
  set(command, context);
  raise(command, context);
  addViewOptions(
    command.command('list').description('show what is spent, held and left, with a forecast'),
  ).action(async (options) => void (await show(context, options)));
  addViewOptions(
    command
      .command('check')
      .description('list budgets, and exit with code 6 if one is full: for scripts and CI'),
  ).action(async (options) => {
    const full = (await show(context, options)).filter(({ exceeded }) => exceeded).map(({ id }) => id);
    if (full.length > 0) throw new CliError(`over budget: ${full.join(', ')}`, EXIT.overBudget);
  });
  addBacktests(command, context);
  remove(command, context);
};

type ViewOptions = OptionsOf<typeof addViewOptions>;

function addViewOptions(command: Command) {
  return command
    .option(...ONLY_PROJECT)
    .option('--repo <path>', 'only budgets that count requests from this git repository')
    .option('--json', 'print JSON, as GET /v1/budgets returns it')
    .option('--ascii', 'no block characters');
}

const set: SetUp = (command, context) =>
  addScopeOptions(
    command.command('set').description('cap what a project may spend; requests beyond it are refused'),
  )
    .argument('[amount]', 'cap in dollars, such as 20 or 0.50')
    .option(...IN_PROJECTS)
    .option(...ALL_OF_THEM)
    .addOption(
      new Option('--period <period>', 'when spending starts again from zero')
        .choices(LASTING_PERIODS)
        .default('daily'),
    )
    .option('--alert <percents>', 'percentages of the cap that send alerts, such as 50,80,95 (default: 80)')
    .option('--max-rate <amount/time>', 'cap in a sliding window instead: 2/hour, 0.50/10m')
    .option(
      '--on-limit <what>',
      'block: refuse requests beyond it (default); ask: let them wait for gw approve; fallback:MODEL,...: send them to the first of these that fits',
    )
    .option('--from <percent>', 'with fallback: from this share of the cap on, such as 80%')
    .addOption(
      new Option(
        '--runaway <what>',
        'requests of a session that runs away: alert (default), ask their owner, or block them',
      ).choices(RUNAWAY_ACTIONS),
    )
    .option(...AS_JSON)
    .action(async (amount, { alert, onLimit, from, runaway, json, ...options }) => {
      const project = projectsIn(options);
      const scope = scopeFrom(options);
      if (options.repo !== undefined && !remoteOf(context)) mustAttribute(context);
      const repo = options.repo === undefined ? undefined : readRepo(options.repo);
      const place = { project, period: options.period, repo, scope };
      const limit = readOnLimit(onLimit, from);
      const { budget, timezone } = await withGateway(context, async (reader) => ({
        budget: await reader.setBudget(
          budgetBody({
            ...place,
            ...(isKept(amount, options, runaway) ? await termsNow(reader, place) : termsOf(amount, options)),
            ...{ ...readAlerts(alert), ...limit, runaway },
          }),
        ),
        timezone: (await reader.calendar()).timezone,
      }));
      if (json) sayJson(context, budget);
      else note(context, confirmation(budget, timezone, context.clock.now()));
      for (const warning of budget.warnings ?? []) note(context, `warning: ${warning}`);
    });

/** `gw budget set --runaway block` leaves the cap as it is. */
const isKept = (amount: string | undefined, { maxRate }: { maxRate?: string }, runaway?: string): boolean =>
  amount === undefined && maxRate === undefined && runaway !== undefined;

/** The terms of a budget as it is. Throws if there is none. */
async function termsNow(reader: Reader, { project, period, repo, scope }: BudgetName) {
  const id = budgetName({
    ...{ projectName: project, period, repo: repo ?? '' },
    ...(scope && { scopeKind: scope.kind, scopeValue: scope.value }),
  });
  const budget = (await reader.budgets({ project_id: project })).find((each) => each.id === id);
  if (!budget)
    throw usageError(`there is no budget ${id} yet. Give its amount too: gw budget set 5 --runaway block`);
  return { capNanoUsd: budget.cap_nano_usd, alertPercents: budget.alert_percents };
}

function termsOf(
  amount: string | undefined,
  { period, maxRate }: { period: LastingPeriod; maxRate?: string },
) {
  if (maxRate !== undefined && amount !== undefined)
    throw usageError(`give an amount or --max-rate, not both: gw budget set --max-rate ${maxRate}`);
  if (maxRate !== undefined) return { period: 'rolling' as const, ...readRate(maxRate) };
  if (amount === undefined)
    throw usageError('missing amount. For example: gw budget set 5   or: gw budget set --max-rate 2/hour');
  return { period, capNanoUsd: readAmount(amount) };
}

const raise: SetUp = (command, context) =>
  command
    .command('raise')
    .argument('<amount>', 'dollars to add to the cap')
    .argument('[budget]', 'name shown by gw budget list; optional if there is only one')
    .description('raise a cap by an amount, for good or for a time')
    .option(...IN_PROJECT)
    .option('--for <time>', 'the cap falls back by itself after this time, such as 2h')
    .option(...AS_JSON)
    .action(async (amount, name, { project, for: time, json }) => {
      const amountNanoUsd = readAmount(amount);
      const forMs = time === undefined ? undefined : readDuration(time, '--for');
      const { budget, timezone } = await withGateway(context, async (reader) => ({
        budget: await reader.raiseBudget({
          budget_id: await budgetToRaise(reader, name, project),
          amount_usd: usdNumber(amountNanoUsd),
          for_seconds: forMs === undefined ? undefined : forMs / 1_000,
        }),
        timezone: (await reader.calendar()).timezone,
      }));
      if (json) return sayJson(context, budget);
      const now = context.clock.now();
      const lasts =
        forMs === undefined
          ? ''
          : ` until ${createTimeFormat(timezone).moment(now + forMs, now)} (${timezone}), then it falls back by ${formatUsd(amountNanoUsd)}`;
      note(
        context,
        `Budget ${budget.id}: ${formatUsd(budget.spent_nano_usd)} spent of ${capText(budget)}${lasts}. It applies from the next request.`,
      );
    });

/** The full name of a budget that is named as lists show it, or of the only one of the project. */
async function budgetToRaise(reader: Reader, name: string | undefined, project: string): Promise<string> {
  if (name !== undefined) return namedBudget(await reader.budgets({}), name, 'set AMOUNT').id;
  const [only, ...others] = (await reader.budgets({ project_id: project })).filter(
    ({ scope, team }) => scope?.kind !== 'run' && !team,
  );
  if (!only)
    throw new CliError(`project ${project} has no budget. To set one: gw budget set 5`, EXIT.notFound);
  if (others.length === 0) return only.id;
  const names = [only, ...others].map(({ id }) => `\n  gw budget raise AMOUNT ${singleQuoted(id)}`);
  throw usageError(`project ${project} has ${names.length} budgets. Choose one:${names.join('')}`);
}

async function show(context: Context, options: ViewOptions): Promise<BudgetView[]> {
  const repo = options.repo === undefined ? undefined : readOldRepo(options.repo);
  const { budgets, timezone } = await withGateway(context, async (reader) => ({
    budgets: await reader.budgets({ project_id: options.project, repo }),
    timezone: (await reader.calendar()).timezone,
  }));
  if (options.json) sayJson(context, budgets);
  else if (budgets.length === 0) {
    note(context, 'No budgets: spending is not limited. To cap it at $5 a day: gw budget set 5');
  } else {
    const terminal = screenOf(context, options);
    say(context, budgetTable(budgets, { terminal, timezone, now: context.clock.now() }));
    if (budgets.some(({ repo }) => repo !== null) && !remoteOf(context)) noteAttribution(context);
  }
  return budgets;
}

const remove: SetUp = (command, context) =>
  addScopeOptions(command.command('remove').description('remove a budget'))
    .argument('[budget]', 'name shown by gw budget list, such as web/daily or default/monthly@app')
    .option(...IN_PROJECTS)
    .option(...ALL_OF_THEM)
    .addOption(
      new Option('--period <period>', 'which budget; optional if there is only one').choices(PERIODS),
    )
    .option(...UNASKED)
    .action(async (name, { project: names, allProjects, ...others }) => {
      const options = { ...others, project: projectsIn({ project: names, allProjects }) };
      const scope = scopeFrom(options);
      const isSelected = options.period !== undefined || options.repo !== undefined || scope !== undefined;
      if (name !== undefined && isSelected)
        throw usageError(`give a name or options, not both: gw budget remove ${name}`);
      const removed = await withGateway(context, async (reader) => {
        const budgets = await reader.budgets(name === undefined ? { project_id: options.project } : {});
        const match =
          name === undefined ? matchingBudget(budgets, options, scope) : namedBudget(budgets, name, 'remove');
        const chosen = match ? budgetNameOf(match) : missingBudget(options, scope);
        if (match) {
          const loss = `This ends the cap of ${capText(match)} (${match.id}); what was spent stays in reports.`;
          await confirmLoss(context, loss, { yes: options.yes, scripted: true });
        }
        const { scope: of, ...named } = chosen;
        await reader.removeBudget({ ...named, ...scopeToQuery(of) });
        return match?.id;
      });
      note(context, `Removed budget ${removed}.`);
    });

/** The projects that a budget is for, as its name has them. */
function projectsIn({ project, allProjects }: { project: string; allProjects?: true | undefined }): string {
  if (!allProjects) return project.split(',').sort().join(',');
  if (project !== DEFAULT_PROJECT) throw usageError('give -p or --all-projects, not both');
  return ALL_PROJECTS;
}

/** The options that select a budget to remove. */
interface Selection {
  project: string;
  period?: BudgetPeriod;
  repo?: string;
}

/** The budget of a full name, or of the short one that lists show for a repository's budget. Throws for one of the team. */
function namedBudget(budgets: BudgetView[], name: string, teamCommand: string): BudgetView {
  const exact = budgets.filter(({ id }) => id === name);
  const ofTeam = teamBudgetOf(name);
  if (ofTeam && exact.every(({ team }) => team)) throw usageError(teamBudgetText(ofTeam, teamCommand));
  const match = onlyOne(exact.length > 0 ? exact : budgets.filter(({ id }) => budgetLabel(id) === name));
  if (!match) throw new CliError(`no budget "${name}". See: gw budget list`, EXIT.notFound);
  return match;
}

/** The budget that the options select. Those of runs are named in full. */
function matchingBudget(
  budgets: BudgetView[],
  options: Selection,
  wanted: Scope | undefined,
): BudgetView | undefined {
  const { period } = options;
  const repo = options.repo === undefined ? undefined : readOldRepo(options.repo);
  return onlyOne(
    budgets.filter((each) => {
      if (each.team || each.scope?.kind === 'run' || (period !== undefined && each.period !== period))
        return false;
      const { repo: ofRepo, scope } = budgetNameOf(each);
      if (wanted) return scope?.kind === wanted.kind && scope.value === wanted.value;
      if (repo !== undefined) return ofRepo === repo;
      // A period alone selects the project's own budget.
      return period === undefined || each.scope === null;
    }),
  );
}

/** A name that no budget has, for the error that says so. */
function missingBudget({ project, period = 'daily', repo }: Selection, scope: Scope | undefined): BudgetName {
  return { project, period, repo: repo === undefined ? undefined : readOldRepo(repo), scope };
}

function onlyOne(matches: BudgetView[]): BudgetView | undefined {
  if (matches.length < 2) return matches[0];
  const commands = matches.map((each) => `\n  ${removalOf(each)}   # ${capText(each)}`);
  throw usageError(`${matches.length} budgets match. Choose one:${commands.join('')}`);
}

function removalOf(budget: BudgetView): string {
  const { project, period, repo, scope } = budgetNameOf(budget);
  const ofRepo = repo === undefined ? '' : ` --repo ${singleQuoted(repo)}`;
  const option = scope?.kind === 'each' ? 'per' : scope?.kind;
  const ofScope = scope === undefined ? '' : ` --${option} ${singleQuoted(scope.value)}`;
  const of = project === ALL_PROJECTS ? '--all-projects' : `-p ${project}`;
  return `gw budget remove --period ${period} ${of}${ofRepo}${ofScope}`;
}

const SWITCH_ON = 'gw config set attribution on';

/** Throws unless gw can attribute requests to repositories, which a repository's budget needs. */
function mustAttribute(context: Context): void {
  if (!CAN_ATTRIBUTE)
    throw usageError(`on ${process.platform}, gw cannot tell which repository a request comes from`);
  if (isOff(context))
    throw usageError(
      `attribution is off, so gw does not know which repository a request comes from. To switch it on: ${SWITCH_ON}`,
    );
}

function noteAttribution(context: Context): void {
  if (!CAN_ATTRIBUTE || isOff(context))
    note(context, `Repository budgets count nothing while attribution is off. To switch it on: ${SWITCH_ON}`);
}

const isOff = (context: Context): boolean => readSettings(context).settings.attribution === 'off';

type ScopeOptions = OptionsOf<typeof addScopeOptions>;

function addScopeOptions(command: Command) {
  return command
    .option('--repo <path>', 'only requests from this git repository, such as .')
    .option('--key <key>', 'only requests with this key: its label or id')
    .option('--session <id>', 'only requests of this session of an agent: gw sessions')
    .option('--agent <name>', 'only requests of this agent: claude, codex, ...')
    .option('--model <pattern>', 'only requests that these models serve: openai/gpt-5, "openai/gpt-5*"')
    .option('--provider <name>', 'only requests that this provider serves')
    .option('--label <name=value>', 'only requests with this label: customer=acme')
    .option('--per <what>', `a cap for each ${EACH_CHOICES}`, readEachKind);
}

/** The scope that the options name; undefined for a repository or a whole project. Throws for more than one. */
function scopeFrom({ repo, key, session, agent, model, provider, label, per }: ScopeOptions) {
  const scopes = { repo, key, session, agent, model, provider, label, per };
  const given = Object.entries(scopes).filter(([, value]) => value !== undefined);
  if (given.length > 1)
    throw usageError(
      `a budget is for one thing: give one of ${given.map(([name]) => `--${name}`).join(' and ')}`,
    );
  if (given.some(([, value]) => value === '')) throw usageError(`--${given[0]?.[0]} is empty`);
  if (label !== undefined) return labelScope(label, '--label');
  return per === undefined
    ? scopeFromQuery({ key, session, agent, model, provider })
    : scopeFromQuery({ per });
}
