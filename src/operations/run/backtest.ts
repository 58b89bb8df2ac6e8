import { addDays } from '../../calendar.ts';
import { formatUsd, type NanoUsd, parseUsd, usdNumber } from '../../money.ts';
import { mustBeOwn } from '../../own-project.ts';
import {
  type BacktestPeriod,
  createClientNames,
  backtest as simulate,
} from '../../store/backtest/backtest.ts';
import { pastRequests } from '../../store/backtest/past-requests.ts';
import { DEFAULT_ALERT_PERCENT } from '../../store/backtest/simulated-budget.ts';
import { countedInScope, type Scope } from '../../store/budgets/budgets.ts';
import { countedProjects, getOwner } from '../../store/budgets/owner.ts';
import { isoTime } from '../../store/ledger/standing.ts';
import { spanOf } from '../../store/ledger/terms.ts';
import { scopeFromQuery, scopeToJson } from '../budget-scope.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/backtest.ts';
import type { BacktestView, BudgetSuggestionView } from '../schemas/backtest.ts';
import type { Sources } from '../sources.ts';
import { usageSpan } from '../usage-span.ts';

type Source = Pick<Sources, 'db' | 'scope' | 'calendar'> & { project: string };

interface Cap {
  capNanoUsd: NanoUsd;
  period: BacktestView['period'];
  scope?: Scope | undefined;
  /** Inclusive days. */
  from: string;
  to: string;
}

/** The effect of a cap on a project's past requests. */
export async function backtest(
  sources: Sources,
  {
    project_id: project = sources.scope.project,
    cap_usd,
    period = 'daily',
    from,
    to,
    ...of
  }: Input<typeof described.backtest>,
): Promise<BacktestView> {
  const span = usageSpan({ from, to }, sources.calendar.dateOf(sources.now()));
  const cap = { capNanoUsd: parseUsd(cap_usd) ?? 0, period, scope: scopeFromQuery(of) };
  return readBacktest({ ...sources, project }, { ...cap, ...span });
}

const MOST_CLIENTS = 20;

/** The effect of a cap on the requests of some days, and on those since the start of the first day's period. */
async function readBacktest(source: Source, query: Cap): Promise<BacktestView> {
  const { calendar } = source;
  const { capNanoUsd, period, from, to } = query;
  const { exact, periods } = await replay(source, query);
  const namesOf = createClientNames(source.db);
  const sum = (figure: (period: BacktestPeriod) => number) =>
    periods.reduce((total, each) => total + figure(each), 0);
  return {
    object: 'backtest',
    project_id: source.project,
    scope: query.scope ? scopeToJson(query.scope) : null,
    cap_usd: usdNumber(capNanoUsd),
    cap_nano_usd: capNanoUsd,
    period,
    from,
    to,
    timezone: calendar.timezone,
    alert_percent: DEFAULT_ALERT_PERCENT,
    exact,
    periods: periods.map((each) => ({
      start: new Date(each.start).toISOString(),
      ...sumsOf(each),
      alert_at: isoTime(each.alertAt),
      stopped_at: isoTime(each.stoppedAt),
      stopped: each.stopped.slice(0, MOST_CLIENTS).map((client) => {
        const { key, agent, session } = namesOf(client);
        return {
          key,
          agent,
          session_id: session,
          first_at: new Date(client.firstAt).toISOString(),
          blocked_requests: client.blockedRequests,
          saved_usd: usdNumber(client.savedNanoUsd),
          saved_nano_usd: client.savedNanoUsd,
        };
      }),
    })),
    total: {
      ...sumsOf({
        requests: sum(({ requests }) => requests),
        spentNanoUsd: sum(({ spentNanoUsd }) => spentNanoUsd),
        blockedRequests: sum(({ blockedRequests }) => blockedRequests),
        savedNanoUsd: sum(({ savedNanoUsd }) => savedNanoUsd),
      }),
      periods: periods.length,
      stopped_periods: periods.filter(({ stoppedAt }) => stoppedAt !== undefined).length,
    },
  };
}

const DAYS = 30;
const PERCENTILE = 95;
const HEADROOM_PERCENT = 20;
/** No cap is larger, and no project spends as much. */
const NO_CAP: NanoUsd = 1e15;
const CENT: NanoUsd = 10_000_000;

/** A daily cap that only days with unusual spend would have reached. */
export async function suggestBudget(
  sources: Sources,
  { project_id: project = sources.scope.project }: Input<typeof described.suggestBudget>,
): Promise<BudgetSuggestionView> {
  const source = { ...sources, project };
  const to = source.calendar.dateOf(sources.now());
  const days = { period: 'daily', from: addDays(to, 1 - DAYS), to } as const;
  const spent = (await replay(source, { ...days, capNanoUsd: NO_CAP })).periods
    .map(({ spentNanoUsd }) => spentNanoUsd)
    .filter((amount) => amount > 0)
    .sort((a, b) => a - b);
  const usual = spent[Math.ceil((spent.length * PERCENTILE) / 100) - 1];
  const terms = {
    object: 'budget_suggestion',
    project_id: source.project,
    period: 'daily',
    percentile: PERCENTILE,
    headroom_percent: HEADROOM_PERCENT,
  } as const;
  if (usual === undefined) {
    const reason = `project ${source.project} spent nothing in the last ${DAYS} days`;
    return { ...terms, cap_usd: null, cap_nano_usd: null, reason };
  }
  const cap = Math.ceil((usual * (1 + HEADROOM_PERCENT / 100)) / CENT) * CENT;
  const { total } = await readBacktest(source, { ...days, capNanoUsd: cap });
  const reason = `on ${PERCENTILE}% of the ${spent.length} days with spend of the last ${DAYS}, at most ${formatUsd(usual)} was spent; with ${HEADROOM_PERCENT}% on top, the cap would have stopped ${total.stopped_periods} of them and saved ${formatUsd(total.saved_nano_usd)}`;
  return { ...terms, cap_usd: usdNumber(cap), cap_nano_usd: cap, reason };
}

async function replay(
  { db, scope, calendar, project }: Source,
  { period, from, to, capNanoUsd, scope: of }: Cap,
) {
  mustBeOwn(scope, project, 'project_id');
  const owner = await getOwner(db, project);
  const first = calendar.startOfDate(from);
  const since = period === 'lifetime' ? first : spanOf(period, first, calendar).start;
  const until = calendar.startOfDate(addDays(to, 1));
  const counted = of ? countedInScope(db, owner, of) : {};
  const pages = pastRequests(db, { ...counted, projectIds: countedProjects(owner), since, until });
  return simulate(pages, { projectId: owner.id, capNanoUsd, period, since }, { calendar });
}

function sumsOf(
  figures: Pick<BacktestPeriod, 'requests' | 'spentNanoUsd' | 'blockedRequests' | 'savedNanoUsd'>,
) {
  return {
    requests: figures.requests,
    spent_usd: usdNumber(figures.spentNanoUsd),
    spent_nano_usd: figures.spentNanoUsd,
    blocked_requests: figures.blockedRequests,
    saved_usd: usdNumber(figures.savedNanoUsd),
    saved_nano_usd: figures.savedNanoUsd,
  };
}
