import { isFree } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { scaleCard } from '../../pricing/price-card.ts';
import { regionalCard } from '../../pricing/regional.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';
import type { Quote } from './quote.ts';
import { quote } from './quote.ts';
import { toolFees, toolsFor } from './tool-fees.ts';

/** What a request would cost at a target at most, for a number of input tokens. */
export function quoteRequest(
  gateway: Gateway,
  context: RequestContext,
  target: Target,
): (inputTokens: number) => Quote {
  const { provider, model } = target;
  const found = gateway.catalog().find(provider.name, model, gateway.clock.now());
  const listed = regionalCard(found, provider, model);
  const heldTenths = gateway.accountSurcharges.of(target, context.request.surcharges);
  const card = listed && heldTenths !== 10 ? scaleCard(listed, heldTenths) : listed;
  const settings = gateway.settings();
  const request = toolsFor(context.request.serverTools, target.model);
  const tools =
    request &&
    !isOwnMachine(target, card) &&
    toolFees(request, {
      provider: provider.name,
      choices: context.request.choices,
      fees: settings.fees,
      maxCalls: settings['admission.max_tool_calls'],
    });
  return (inputTokens) =>
    quote(context.request, {
      provider: provider.name,
      model,
      card,
      listed,
      heldTenths,
      inputTokens,
      minOutputTokens: settings['admission.min_output_tokens'],
      tools: tools || undefined,
    });
}

/** Where tokens cost nothing, tools don't either, but for hosts that give some models away. */
function isOwnMachine({ provider }: Target, card: PriceCard | undefined): boolean {
  const isHost = Object.hasOwn(PRESETS, provider.name) && !provider.local;
  return card !== undefined && isFree(card) && !isHost;
}
