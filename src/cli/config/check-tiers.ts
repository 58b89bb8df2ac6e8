import { SettingError } from '../../config/setting-error.ts';
import { isName, namesIn, parseTiers } from '../../config/tiers.ts';
import { worstCase } from '../../pricing/cost.ts';
import { catalogOf, knownPrices } from '../../reading/known-prices.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { unknownProvidersIn } from './unknown-providers.ts';

/**
 * Throws SettingError if a tier names an unknown provider, which may be a typo, or if the strong tier costs more than
 * the requested model and the setting does not allow that with `up`.
 */
export function checkTiers(context: Context, model: string, text: string): void {
  const { strong, weak, up } = parseTiers(text, model);
  const [unknown] = unknownProvidersIn(context, [strong, weak.models].flatMap(namesIn));
  if (unknown) {
    throw new SettingError(
      `tiers.${model}: ${unknown.name} names an unknown provider. To add it: gw providers add ${unknown.provider}`,
    );
  }
  const priceOf = (name: string) => listPrice(context, name);
  const modelPrice = priceOf(model);
  const strongNames = namesIn(strong);
  if (up || modelPrice === undefined || strongNames.some((name) => isName(name, model))) return;
  const dearer = strongNames.find((name) => (priceOf(name) ?? 0) > modelPrice);
  if (dearer === undefined) return;
  throw new SettingError(
    `tiers.${model}: ${dearer} costs more than ${model}, so requests would go to a stronger model than they ask for. To allow that, add: up`,
  );
}

const SAMPLE_USAGE = { inputTokens: 1_000_000, outputTokens: 1_000_000, choices: 1 };

/** Cost of the sample usage at list prices; undefined when no price is known. */
function listPrice(context: Context, name: string): number | undefined {
  const configured = Object.keys(readSettings(context).settings.providers);
  const [price] = knownPrices(name, {
    catalog: catalogOf([], context.paths.prices, context.clock.now),
    configured,
  });
  return price && worstCase(SAMPLE_USAGE, price.card);
}
