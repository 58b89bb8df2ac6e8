import { groupsIn } from '../config/aliases.ts';
import { badRequest } from '../errors.ts';
import type { Catalog } from '../pricing/catalog.ts';
import { costOf, worstCase } from '../pricing/cost.ts';
import { modelLimits } from '../pricing/limits.ts';
import { cardFor } from '../pricing/price-card.ts';
import { PLAIN_TEXT } from '../pricing/price-profile.ts';
import type { PastRequest, Served } from '../store/backtest/past-requests.ts';
import type { CheaperModels } from '../store/backtest/simulated-accounts.ts';
import { type KnownPrice, knownPrices } from './known-prices.ts';
import type { Sources } from './sources.ts';

/**
 * The cheaper models of a budget that is only tried, separated by commas. Throws GwError 400 for one without a known
 * price.
 */
export async function pricedModels(
  { catalog, settings }: Pick<Sources, 'catalog' | 'settings'>,
  names: string,
) {
  const { aliases, providers } = settings();
  const source = { catalog: await catalog(), configured: Object.keys(providers) };
  const models = groupsIn(names, aliases)
    .flat()
    .map((name): KnownPrice => {
      const [known] = knownPrices(name, source);
      if (known) return known;
      throw badRequest(
        `gw has no price of "${name}", so no request would go there. To set it: gw prices set ${name} --input 1 --output 4`,
        'fallback',
      );
    });
  if (models.length === 0) throw badRequest('"fallback" names no model', 'fallback');
  return {
    models,
    priceAt: (request: PastRequest, target: Served) => priceAt(source.catalog, request, target),
  };
}

/** A past request at a model's list price of that time: undefined without one, or where its prompt doesn't fit. */
function priceAt(
  catalog: Catalog,
  { work, isNeedKnown, startedUs }: PastRequest,
  { provider, model }: Served,
): ReturnType<CheaperModels['priceAt']> {
  const card = catalog.find(provider, model, startedUs / 1_000);
  if (!card || !work || !isNeedKnown) return undefined;
  const { usage, needInputTokens: inputTokens, needOutputTokens: outputTokens, needFeesNanoUsd } = work;
  if (usage.inputTokens > (modelLimits(provider, model)?.contextTokens ?? Number.POSITIVE_INFINITY))
    return undefined;
  const cacheWrites = usage.cacheWriteTokens > 0 ? 'default' : 'none';
  const held = cardFor(card, { ...PLAIN_TEXT, cacheWrites });
  const isUnused = usage.inputTokens + usage.outputTokens === 0;
  return {
    needNanoUsd: worstCase({ inputTokens, outputTokens, choices: 1 }, held) + needFeesNanoUsd,
    costNanoUsd: isUnused ? 0 : costOf(usage, card),
  };
}
