import { createCatalog } from '../../pricing/catalog.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { StoredPrice } from '../../store/accounts/prices.ts';

/** What a model costs at a provider, and who says so. */
export interface KnownPrice {
  provider: string;
  model: string;
  card: PriceCard;
}

export interface KnownPriceOptions {
  overrides: readonly StoredPrice[];
  /** Names of the providers that are configured. */
  configured: readonly string[];
  now: number;
}

/** The price in force of a model: at its provider, or at each provider that is known to sell it. */
export function knownPrices(
  { provider, model }: { provider: string; model: string },
  { overrides, configured, now }: KnownPriceOptions,
): KnownPrice[] {
  const catalog = createCatalog({
    overrides: overrides.map((price) => ({ ...price, provider: price.provider || null })),
    now: () => now,
  });
  const providers = provider === '' ? candidates(model, configured) : [provider];
  return providers.flatMap((name) => {
    // The sandbox's models carry its name in their own.
    const full = name === 'sandbox' && !model.startsWith('sandbox/') ? `sandbox/${model}` : model;
    const card = catalog.find(name, full);
    return card ? [{ provider: name, model: full, card }] : [];
  });
}

/** Who sells it: whoever's name pattern it fits, else any that is known. Local runtimes run whatever they are given. */
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
