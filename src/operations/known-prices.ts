import type { Settings } from '../config/settings.ts';
import { type Catalog, createCatalog } from '../pricing/catalog.ts';
import { type LearntDeployments, learntDeployments } from '../pricing/deployments.ts';
import type { MediaPrices } from '../pricing/media-prices.ts';
import type { PriceCard } from '../pricing/price-card.ts';
import { readStoredPrices } from '../pricing/published/stored-prices.ts';
import { PRESETS } from '../providers/presets.ts';
import { billedAs } from '../providers/registry.ts';
import { listPrices, type StoredPrice } from '../store/accounts/prices.ts';
import type { Db } from '../store/database/open.ts';
import { createRouterStateStore } from '../store/router/router-state.ts';
import { modelOf } from './price-name.ts';

/** The price of a model at a provider, and its source. */
export interface KnownPrice {
  provider: string;
  model: string;
  card: PriceCard;
}

/** The prices in force of a model at a provider: of its tokens, and of pictures, sound and film. */
export interface PriceInForce extends Omit<KnownPrice, 'card'> {
  card: PriceCard | undefined;
  media: MediaPrices | undefined;
}

interface Source {
  catalog: Catalog;
  /** Names of the configured providers. */
  configured: readonly string[];
}

/** The price in force of a model, named as `provider/model` or alone: at its provider, or at each known to sell it. */
export function knownPrices(name: string, source: Source): KnownPrice[] {
  return pricesInForce(name, source).flatMap(({ provider, model, card }) =>
    card ? [{ provider, model, card }] : [],
  );
}

/** The same with prices of pictures, sound and film, which may be all that a model has. */
export function pricesInForce(name: string, { catalog, configured }: Source): PriceInForce[] {
  const { provider, model } = modelOf(name, configured);
  const providers = provider === '' ? candidates(model, configured) : [provider];
  return providers.flatMap((name) => {
    // The names of sandbox models start with `sandbox/`.
    const full = name === 'sandbox' && !model.startsWith('sandbox/') ? `sandbox/${model}` : model;
    const card = catalog.find(name, full);
    const media = catalog.media(name, full);
    return card || media ? [{ provider: name, model: full, card, media }] : [];
  });
}

/** The catalog of a gateway: the prices and deployments in its database, and those that `pricesFile` has. */
export async function catalogIn(
  db: Db,
  pricesFile: string,
  options: { providers: Settings['providers']; now: () => number },
): Promise<Catalog> {
  return catalogOf(await listPrices(db), pricesFile, { ...options, learnt: readDeployments(db) });
}

/** The models behind Azure's deployments, as answers have named them. */
export const readDeployments = (db: Db): LearntDeployments =>
  learntDeployments(createRouterStateStore(db).read('deployments'));

/** The catalog of the user's own prices, and those that `pricesFile` has or the packaged ones. */
export function catalogOf(
  overrides: readonly StoredPrice[],
  pricesFile: string,
  {
    providers,
    learnt = {},
    now,
  }: { providers: Settings['providers']; learnt?: LearntDeployments; now: () => number },
): Catalog {
  return createCatalog({
    overrides,
    billedAs: billedAs(providers, learnt),
    published: readStoredPrices(pricesFile).stored?.prices,
    now,
  });
}

/**
 * Providers that may sell a model: those whose name pattern matches it, or else all known ones. Without local runtimes,
 * which run any model.
 */
function candidates(model: string, configured: readonly string[]): string[] {
  if (model.startsWith('sandbox/')) return ['sandbox'];
  const presets = Object.entries(PRESETS).filter(([, preset]) => !preset.local);
  const fitting = presets.filter(([, { models }]) => models?.test(model)).map(([name]) => name);
  return [
    ...new Set([
      ...(fitting.length > 0 ? fitting : presets.map(([name]) => name)),
      ...configured.filter((name) => !PRESETS[name]?.local),
    ]),
  ];
}
