import { addDays, type Calendar } from '../../calendar.ts';
import { formatUsd, type NanoUsd, usdNumber } from '../../money.ts';
import { type BacktestPeriod, backtest, createClientNames } from '../../store/backtest/backtest.ts';
import { pastRequests } from '../../store/backtest/past-requests.ts';
import { DEFAULT_ALERT_PERCENT } from '../../store/backtest/simulated-budget.ts';
import type { Db } from '../../store/database/open.ts';
import { isoTime } from '../../store/ledger/standing.ts';
import { spanOf } from '../../store/ledger/terms.ts';
import type { BacktestView, BudgetSuggestionView } from '../backtest-schemas.ts';
import type { BacktestQuery } from '../reader.ts';
import { projectToRead, type Scope } from './scope.ts';

interface Source {
  db: Db;
  scope: Scope;
  calendar: Calendar;
  project: string;
}

const MOST_CLIENTS = 20;

/** What a cap would have done to a project's requests of some days, and of the start of the first day's period. */
export async function readBacktest(
  source: Source,
  query: Omit<BacktestQuery, 'project'>,
): Promise<BacktestView> {
  const { calendar } = source;
  const { capNanoUsd, period, from, to } = query;
  const { exact, periods } = await replay(source, query);
  const namesOf = createClientNames(source.db);
  const sum = (figure: (period: BacktestPeriod) => number) =>
    periods.reduce((total, each) => total + figure(each), 0);
  return {
    object: 'backtest',
    project_id: source.project,
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
      alert_at: isoTime(each.alertAt ?? Number.POSITIVE_INFINITY),
      stopped_at: isoTime(each.stoppedAt ?? Number.POSITIVE_INFINITY),
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
export async function readSuggestion(source: Source, now: number): Promise<BudgetSuggestionView> {
  const to = source.calendar.dateOf(now);
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

function replay(
  { db, scope, calendar, project }: Source,
  { period, from, to, capNanoUsd }: Omit<BacktestQuery, 'project'>,
) {
  const projectId = projectToRead(db, scope, project) ?? scope.projectId;
  const first = calendar.startOfDate(from);
  const since = period === 'lifetime' ? first : spanOf(period, first, calendar).start;
  const until = calendar.startOfDate(addDays(to, 1));
  const pages = pastRequests(db, { projectId, since, until });
  return backtest(pages, { projectId, capNanoUsd, period, since }, { calendar });
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
