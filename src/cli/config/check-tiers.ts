import { SettingError } from '../../config/setting-error.ts';
import { isName, namesIn, parseTiers } from '../../config/tiers.ts';
import { worstCase } from '../../pricing/cost.ts';
import type { Context } from '../context.ts';
import { knownPrices } from '../prices/known.ts';
import { strangersIn } from './unknown-providers.ts';

/**
 * Throws SettingError for a model of a tier whose provider gw does not know, as for a slip of the pen, and for a strong
 * tier that costs more than the model that is asked for, unless that is allowed.
 */
export function checkTiers(context: Context, model: string, text: string): void {
  const { strong, weak, up } = parseTiers(text, model);
  const [stranger] = strangersIn(context, [strong, weak.models].flatMap(namesIn));
  if (stranger) {
    throw new SettingError(
      `tiers.${model}: ${stranger.name} names an unknown provider. To add it: gw providers add ${stranger.provider}`,
    );
  }
  const priceOf = (name: string) => listPrice(context, name);
  const asked = priceOf(model);
  const strongNames = namesIn(strong);
  if (up || asked === undefined || strongNames.some((name) => isName(name, model))) return;
  const dearer = strongNames.find((name) => (priceOf(name) ?? 0) > asked);
  if (dearer === undefined) return;
  throw new SettingError(
    `tiers.${model}: ${dearer} costs more than ${model}, so requests would go to a stronger model than they ask for. To allow that, add: up`,
  );
}

const MUCH_USE = { inputTokens: 1_000_000, outputTokens: 1_000_000, choices: 1 };

/** The list price of much use; undefined when it is not known. */
function listPrice(context: Context, name: string): number | undefined {
  const [price] = knownPrices(context, name);
  return price && worstCase(MUCH_USE, price.card);
}
