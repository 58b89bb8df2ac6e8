import { SettingError } from '../../config/setting-error.ts';
import type { Settings } from '../../config/settings.ts';
import { isName, namesIn, parseTiers } from '../../config/tiers.ts';
import { worstCase } from '../../pricing/cost.ts';
import type { Context } from '../context.ts';
import { knownPrices } from '../prices/known.ts';
import { modelOf } from '../prices/read.ts';
import { readSettings } from '../settings.ts';
import { strangersIn } from './unknown-providers.ts';

/**
 * Throws SettingError for a model of a tier whose provider gw does not know, as for a slip of the pen, and for a strong
 * tier that costs more than the model that is asked for, unless that is allowed.
 */
export function checkTiers(context: Context, model: string, text: string): void {
  const { strong, weak, up } = parseTiers(text, model);
  const { settings } = readSettings(context);
  const [stranger] = strangersIn(context, [strong, weak.models].flatMap(namesIn));
  if (stranger) {
    throw new SettingError(
      `tiers.${model}: ${stranger.name} names no provider that is known. To add it: gw providers add ${stranger.provider}`,
    );
  }
  const priceOf = (name: string) => priceIn(name, settings, context.clock.now());
  const asked = priceOf(model);
  const strongNames = namesIn(strong);
  if (up || asked === undefined || strongNames.some((name) => isName(name, model))) return;
  const dearer = strongNames.find((name) => (priceOf(name) ?? 0) > asked);
  if (dearer === undefined) return;
  throw new SettingError(
    `tiers.${model}: ${dearer} costs more than ${model}: requests would go to a stronger model than they ask for. To allow that, add: up`,
  );
}

const MUCH_USE = { inputTokens: 1_000_000, outputTokens: 1_000_000, choices: 1 };

/** At list prices; undefined where nobody knows. */
function priceIn(name: string, settings: Settings, now: number): number | undefined {
  const configured = Object.keys(settings.providers);
  const [price] = knownPrices(modelOf(name, settings), { overrides: [], configured, now });
  return price && worstCase(MUCH_USE, price.card);
}
