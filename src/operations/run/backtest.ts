import { addDays } from '../../calendar.ts';
import { badRequest } from '../../errors.ts';
import { formatUsd, type NanoUsd, parseUsd, usdFields, usdNumber } from '../../money.ts';
import { mustBeOwn } from '../../own-project.ts';
import { backtest as simulate } from '../../store/backtest/backtest.ts';
import { pastRequests } from '../../store/backtest/past-requests.ts';
import { DEFAULT_ALERT_PERCENT } from '../../store/backtest/simulated-accounts.ts';
import {
  type BacktestFallback,
  type BacktestMember,
  type BacktestPeriod,
  createClientNames,
} from '../../store/backtest/tally.ts';
import { countedInScope, type Scope } from '../../store/budgets/budgets.ts';
import { countedProjects, getOwner } from '../../store/budgets/owner.ts';
import { isoTime } from '../../store/ledger/standing.ts';
import { type EachKind, spanOf, targetName } from '../../store/ledger/terms.ts';
import { scopeFromQuery, scopeToJson } from '../budget-scope.ts';
import type { KnownPrice } from '../known-prices.ts';
import type { Input } from '../operation.ts';
import { usdPerMillion } from '../price-views.ts';
import type * as described from '../schemas/backtest.ts';
import type { BacktestView, BudgetSuggestionView } from '../schemas/backtest.ts';
import type { Sources } from '../sources.ts';
import { usageSpan } from '../usage-span.ts';

type Source = Pick<Sources, 'db' | 'scope' | 'calendar' | 'catalog' | 'settings'> & { project: string };

interface Cap {
  capNanoUsd: NanoUsd;
  period: BacktestView['period'];
  scope?: Scope | undefined;
  repo?: string | undefined;
  /** Cheaper models, separated by commas, and the share of the cap from which on they are used. */
  fallback?: string | undefined;
  fromPercent?: number | undefined;
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
    repo,
    fallback,
    fallback_percent: fromPercent,
    ...of
  }: Input<typeof described.backtest>,
): Promise<BacktestView> {
  const span = usageSpan({ from, to }, sources.calendar.dateOf(sources.now()));
  const scope = scopeFromQuery(of);
  if (repo !== undefined && scope) throw badRequest('a budget is for one thing: "repo" or another', 'repo');
  if (fromPercent !== undefined && fallback === undefined)
    throw badRequest('"fallback_percent" belongs to "fallback", the cheaper models', 'fallback_percent');
  const cap = { capNanoUsd: parseUsd(cap_usd) ?? 0, period, scope, repo, fallback, fromPercent };
  return readBacktest({ ...sources, project }, { ...cap, ...span });
}

const MOST_CLIENTS = 20;
const MOST_MEMBERS = 20;

/** The effect of a cap on the requests of some days, and on those since the start of the first day's period. */
async function readBacktest(source: Source, query: Cap): Promise<BacktestView> {
  const { calendar } = source;
  const { capNanoUsd, period, from, to } = query;
  const { exact, periods, members, fallbacks, models } = await replay(source, query);
  const namesOf = createClientNames(source.db);
  const sum = (figure: (period: BacktestPeriod) => number) =>
    periods.reduce((total, each) => total + figure(each), 0);
  return {
    object: 'backtest',
    project_id: source.project,
    scope: scopeView(query),
    ...usdFields('cap', capNanoUsd),
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
          ...usdFields('saved', client.savedNanoUsd),
        };
      }),
    })),
    total: {
      ...sumsOf({
        requests: sum(({ requests }) => requests),
        spentNanoUsd: sum(({ spentNanoUsd }) => spentNanoUsd),
        blockedRequests: sum(({ blockedRequests }) => blockedRequests),
        fallbackRequests: sum(({ fallbackRequests }) => fallbackRequests),
        savedNanoUsd: sum(({ savedNanoUsd }) => savedNanoUsd),
      }),
      periods: periods.length,
      stopped_periods: periods.filter(({ stoppedAt }) => stoppedAt !== undefined).length,
    },
    members: query.scope?.kind === 'each' ? membersView(members, query.scope, namesOf) : null,
    fallback:
      models === undefined
        ? null
        : {
            from_percent: query.fromPercent ?? 100,
            models: models.map((known) => fallbackView(known, fallbacks)),
          },
  };
}

const scopeView = ({ repo, scope }: Cap): BacktestView['scope'] =>
  repo === undefined ? (scope ? scopeToJson(scope) : null) : { kind: 'repo', value: repo };

/** How many members a cap for each would have hit, and those that it would have hit most. */
function membersView(
  members: readonly BacktestMember[],
  { value: kind }: Scope,
  namesOf: ReturnType<typeof createClientNames>,
): NonNullable<BacktestView['members']> {
  const hits = ({ blockedRequests, fallbackRequests }: BacktestMember) => blockedRequests + fallbackRequests;
  const hit = members.filter((member) => hits(member) > 0);
  const nameOf = ({ name }: BacktestMember) =>
    kind === 'key' ? (namesOf({ keyId: Number(name), agentId: 0, sessionId: 0 }).key ?? name) : name;
  return {
    total: members.length,
    hit: hit.length,
    most_hit: hit
      .sort((a, b) => hits(b) - hits(a) || b.savedNanoUsd - a.savedNanoUsd)
      .slice(0, MOST_MEMBERS)
      .map((member) => ({
        name: nameOf(member),
        ...sumsOf(member),
        hit_at: new Date(member.hitAt ?? 0).toISOString(),
      })),
  };
}

function fallbackView({ provider, model, card }: KnownPrice, fallbacks: readonly BacktestFallback[]) {
  const found = fallbacks.find((each) => each.provider === provider && each.model === model);
  const { requests = 0, costNanoUsd = 0, ownNanoUsd = 0 } = found ?? {};
  return {
    model: targetName({ provider, model }),
    input_usd_per_million: usdPerMillion(Number(card.input.picoUsd)),
    output_usd_per_million: usdPerMillion(Number(card.output.picoUsd)),
    requests,
    ...usdFields('cost', costNanoUsd),
    ...usdFields('own_cost', ownNanoUsd),
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
  { db, scope, calendar, project, ...priced }: Source,
  { period, from, to, capNanoUsd, scope: of, repo, fallback, fromPercent = 100 }: Cap,
) {
  mustBeOwn(scope, project, 'project_id');
  // Loads the bundled price table, which is large.
  const models =
    fallback === undefined
      ? undefined
      : await (await import('../cheaper-models.ts')).pricedModels(priced, fallback);
  const owner = await getOwner(db, project);
  const first = calendar.startOfDate(from);
  const since = period === 'lifetime' ? first : spanOf(period, first, calendar).start;
  const until = calendar.startOfDate(addDays(to, 1));
  const counted = of ? countedInScope(db, owner, of) : {};
  const each = of?.kind === 'each' ? (of.value as EachKind) : undefined;
  const span = { projectIds: countedProjects(owner), since, until };
  const pages = pastRequests(db, { ...counted, ...span, repo, each, withWork: models !== undefined });
  const cheaper = models && { targets: models.models, priceAt: models.priceAt, fromPercent };
  const terms = { projectId: owner.id, capNanoUsd, period, since, scope: of, cheaper };
  return { ...(await simulate(pages, terms, { calendar })), models: models?.models };
}

function sumsOf(
  figures: Pick<
    BacktestPeriod,
    'requests' | 'spentNanoUsd' | 'blockedRequests' | 'fallbackRequests' | 'savedNanoUsd'
  >,
) {
  return {
    requests: figures.requests,
    ...usdFields('spent', figures.spentNanoUsd),
    blocked_requests: figures.blockedRequests,
    fallback_requests: figures.fallbackRequests,
    ...usdFields('saved', figures.savedNanoUsd),
  };
}
