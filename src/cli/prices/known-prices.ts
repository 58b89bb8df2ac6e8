import { createCatalog } from '../../pricing/catalog.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { StoredPrice } from '../../store/accounts/prices.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { modelOf } from './read.ts';

/** The price of a model at a provider, and its source. */
export interface KnownPrice {
  provider: string;
  model: string;
  card: PriceCard;
}

/**
 * The price in force of a model, named as `provider/model` or alone: at its provider, or at each provider known to
 * sell it. `overrides` are the user's own prices.
 */
export function knownPrices(
  context: Context,
  name: string,
  overrides: readonly StoredPrice[] = [],
): KnownPrice[] {
  const { settings } = readSettings(context);
  const { provider, model } = modelOf(name, settings);
  const catalog = createCatalog({
    overrides: overrides.map((price) => ({ ...price, provider: price.provider || null })),
    now: context.clock.now,
  });
  const providers = provider === '' ? candidates(model, Object.keys(settings.providers)) : [provider];
  return providers.flatMap((name) => {
    // The names of sandbox models start with `sandbox/`.
    const full = name === 'sandbox' && !model.startsWith('sandbox/') ? `sandbox/${model}` : model;
    const card = catalog.find(name, full);
    return card ? [{ provider: name, model: full, card }] : [];
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
