/**
 * Some providers report the cost of a response. The figure includes costs that token counts don't show (searches, a
 * dearer host, a discount), and exists for models without a list price. Only the providers below are trusted: others
 * could report 0.
 */
import type { NanoUsd } from '../money.ts';
import { type Fields, fields } from './payload-fields.ts';
import { nanoFromPico, scaleDecimal } from './pico.ts';

const PICO_PLACES = 12;
/** xAI counts in ticks, 1 USD = 1e10. */
const PICO_PER_TICK_PLACES = 2;

/** The cost that the provider reports in its parsed `usage`; undefined if it reports none. */
export function readReportedCost(providerName: string, raw: unknown): NanoUsd | undefined {
  const usage = fields(raw);
  switch (providerName) {
    case 'openrouter':
      return openRouterCost(usage);
    case 'perplexity':
      return amount(fields(usage.cost).total_cost, PICO_PLACES);
    case 'xai':
      return amount(usage.cost_in_usd_ticks, PICO_PER_TICK_PLACES);
    default:
      return undefined;
  }
}

/** If the user's own key serves the request behind OpenRouter, `cost` is only OpenRouter's fee. */
function openRouterCost(usage: Fields): NanoUsd | undefined {
  const fee = amount(usage.cost, PICO_PLACES);
  if (usage.is_byok !== true || fee === undefined) return fee;
  const upstream = amount(fields(usage.cost_details).upstream_inference_cost, PICO_PLACES);
  return upstream === undefined ? undefined : fee + upstream;
}

function amount(value: unknown, places: number): NanoUsd | undefined {
  if (typeof value !== 'number') return undefined;
  const pico = scaleDecimal(String(value), places);
  return pico === undefined ? undefined : nanoFromPico(pico);
}
