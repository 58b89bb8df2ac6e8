import { isFree } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { cardFor, raiseHolds, scaleCard } from '../../pricing/price-card.ts';
import { regionalCard } from '../../pricing/regional.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { InputBound } from '../state/input-bound.ts';
import type { Target } from '../state/resolver.ts';
import { priceProfile } from './price-profile.ts';
import type { Quote } from './quote.ts';
import { quote } from './quote.ts';
import { toolFees, toolsFor } from './tool-fees.ts';

/** What pricing a request needs of the gateway. */
export type QuoteParts = Pick<Gateway, 'clock' | 'settings' | 'catalog' | 'accountSurcharges' | 'boundTrust'>;

/** Quotes a request for a number of input tokens. */
export type QuoteFor = (inputTokens: number, inputBound?: InputBound) => Quote;

/** Returns a function that quotes a request at a target for a number of input tokens. */
export function quoteRequest(gateway: QuoteParts, context: RequestContext, target: Target): QuoteFor {
  const { provider, model } = target;
  const catalogCard = gateway.catalog().find(provider.name, model, gateway.clock.now());
  const listed = regionalCard(catalogCard, provider, model);
  const priceTenths = gateway.accountSurcharges.of(target, context.request.surcharges);
  // Holds at the prices that can apply to this request, and settles at the same prices as `listed`.
  const own = listed && holdCard(gateway, context, target, listed);
  const card = own && priceTenths !== 10 ? scaleCard(own, priceTenths) : own;
  const settings = gateway.settings();
  const serverTools = toolsFor(context.request, target);
  const tools =
    serverTools &&
    !isSelfHosted(target, listed) &&
    toolFees(serverTools, {
      provider: provider.name,
      choices: context.request.choices,
      fees: settings.fees,
      maxCalls: settings['admission.max_tool_calls'],
    });
  return (inputTokens, inputBound = 'bytes') =>
    quote(context.request, {
      provider: provider.name,
      model,
      card,
      listed,
      priceTenths,
      inputTokens,
      inputBound,
      minOutputTokens: settings['admission.min_output_tokens'],
      keepsLimits: gateway.boundTrust.isTrusted(target, 'output'),
      keepsMaximum: gateway.boundTrust.isTrusted(target, 'maximum'),
      tools: tools || undefined,
    });
}

/** The card with the prices that can apply to the request. Where a model cost more than they, all that is listed can. */
function holdCard(
  { boundTrust }: Pick<Gateway, 'boundTrust'>,
  context: RequestContext,
  target: Target,
  listed: PriceCard,
): PriceCard {
  const tenths = boundTrust.priceTenths(target);
  return tenths === undefined
    ? cardFor(listed, priceProfile(context, target, listed))
    : raiseHolds(listed, tenths);
}

/** A provider whose tokens and tools are both free. A public host may charge for tools although a model is free. */
function isSelfHosted({ provider }: Target, card: PriceCard | undefined): boolean {
  const isPublicHost = Object.hasOwn(PRESETS, provider.name) && !provider.local;
  return card !== undefined && isFree(card) && !isPublicHost;
}
