import type { Calendar } from '../../calendar.ts';
import { costOf } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import type { PriceChange } from '../../pricing/published/compare-prices.ts';
import type { Reader, RequestConditions } from '../../reading/reader.ts';
import type { BudgetView } from '../../reading/schemas.ts';
import type { UsageViewRow } from '../../reading/usage-schemas.ts';
import { spanOf } from '../../store/ledger/terms.ts';
import { NO_USAGE } from '../../usage.ts';

/** What changed prices mean for a budget, by the spend of its running period. */
export interface BudgetEffect {
  budget: string;
  /** Booked for models whose prices change. */
  changedNanoUsd: number;
  /** What the same tokens would cost at the new prices. */
  newNanoUsd: number;
  /** Models that the budget would refuse for want of a price. */
  gone: string[];
}

/** The budgets whose running period has spend at prices that change. */
export async function budgetEffects(
  reader: Reader,
  changes: readonly PriceChange[],
  now: number,
): Promise<BudgetEffect[]> {
  const changed = new Map(changes.map((change) => [`${change.provider}/${change.model}`, change]));
  const calendar = await reader.calendar();
  const effects: BudgetEffect[] = [];
  for (const budget of await reader.budgets({})) {
    const { data } = await reader.usage({
      ...conditionsOf(budget),
      from: calendar.dateOf(startOf(budget, calendar, now)),
      to: calendar.dateOf(now),
      groupBy: 'model',
    });
    const effect: BudgetEffect = { budget: budget.id, changedNanoUsd: 0, newNanoUsd: 0, gone: [] };
    for (const row of data) {
      const change = changed.get(providerAndModel(row.model ?? '')?.join('/') ?? '');
      if (!change?.before) continue;
      if (!change.after) effect.gone.push(row.model ?? '');
      effect.changedNanoUsd += row.cost_nano_usd;
      effect.newNanoUsd += change.after ? atNewPrice(row, change.before, change.after) : row.cost_nano_usd;
    }
    if (effect.changedNanoUsd > 0) effects.push(effect);
  }
  return effects;
}

/** The provider and the model of a report's row; undefined without either. */
export function providerAndModel(name: string): readonly [string, string] | undefined {
  const slash = name.indexOf('/');
  return slash > 0 ? [name.slice(0, slash), name.slice(slash + 1)] : undefined;
}

/** Scales what was booked, which has fees and surcharges too, by the prices of the tokens. */
function atNewPrice(row: UsageViewRow, before: PriceCard, after: PriceCard): number {
  const usage = {
    ...NO_USAGE,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    outputTokens: row.output_tokens,
  };
  const old = costOf(usage, before);
  return old === 0 ? row.cost_nano_usd : Math.round((row.cost_nano_usd * costOf(usage, after)) / old);
}

function startOf({ period, window_seconds: seconds }: BudgetView, calendar: Calendar, now: number): number {
  if (period === 'rolling') return now - (seconds ?? 0) * 1_000;
  // Reports begin with the database: no gw is older.
  return period === 'lifetime' ? Date.UTC(2020, 0) : spanOf(period, now, calendar).start;
}

function conditionsOf({ project_id, repo, scope }: BudgetView): RequestConditions {
  const conditions: RequestConditions = { project: project_id, repo: repo ?? undefined };
  if (scope?.value == null) return conditions;
  const { kind, value } = scope;
  return kind === 'key' || kind === 'session' || kind === 'agent'
    ? { ...conditions, [kind]: value }
    : conditions;
}
