import { isFree } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { cardFor, raiseHolds, scaleCard, withFallbacks } from '../../pricing/price-card.ts';
import { regionalCard } from '../../pricing/service-factors.ts';
import { PRESETS } from '../../providers/presets.ts';
import { TEXT_ONLY } from '../../wire/request/non-text-input.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { InputBound } from '../state/input-bound.ts';
import type { Target } from '../state/resolver.ts';
import { nonTextOf } from './measure-prompt.ts';
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
  const { surcharges } = context.request;
  const listed = listedCard(gateway, target);
  const others = (surcharges?.fallbacks ?? NO_NAMES).map((name) => ({ provider, model: name }));
  const cards = others.map((other) => fallbackCard(gateway, other));
  const fallbacks = cards.filter((card) => card !== undefined);
  const unpriced = listed ? others.find((_, i) => cards[i] === undefined) : target;
  const priceFactor = Math.max(
    ...[target, ...others].map((each) => gateway.accountSurcharges.of(each, surcharges)),
  );
  // Holds at the prices that can apply to this request, and settles at the same prices as `listed`.
  const billed = provider.name === 'openrouter' ? 'answering' : 'each';
  const own = listed && withFallbacks(holdCard(gateway, context, target, listed), fallbacks, billed);
  const card = own && priceFactor !== 1 ? scaleCard(own, priceFactor) : own;
  const settings = gateway.settings();
  const { serverTools: requested, bytes } = context.request;
  const serverTools = toolsFor({ serverTools: requested, nonText: nonTextOf(context), bytes }, target);
  const tools =
    serverTools &&
    !(isSelfHosted(target, listed) && fallbacks.every(isFree)) &&
    toolFees(serverTools, {
      provider: provider.name,
      choices: context.request.choices,
      fees: settings.fees,
      maxCalls: settings['admission.max_tool_calls'],
      codeResultTokens: gateway.boundTrust.isTrusted(target, 'code')
        ? settings['admission.code_result_tokens']
        : 0,
    });
  return (inputTokens, inputBound = 'bytes') =>
    quote(context.request, {
      provider: provider.name,
      model,
      card,
      listed,
      fallbackNames: surcharges?.fallbacks,
      ...(fallbacks.length > 0 && { fallbacks }),
      unpricedModel: unpriced?.model,
      priceFactor,
      inputTokens,
      inputBound,
      minOutputTokens: settings['admission.min_output_tokens'],
      keepsLimits: gateway.boundTrust.isTrusted(target, 'output'),
      keepsMaximum: gateway.boundTrust.isTrusted(target, 'maximum'),
      tools: tools || undefined,
    });
}

const NO_NAMES: readonly string[] = [];

function listedCard({ catalog, clock }: QuoteParts, { provider, model }: Target): PriceCard | undefined {
  return regionalCard(catalog().find(provider.name, model, clock.now()), provider, model);
}

/** The card of a model that may answer instead, held at all that is listed. None if it brings tools, which nobody holds. */
function fallbackCard(gateway: QuoteParts, target: Target): PriceCard | undefined {
  if (toolsFor(NO_TOOLS, target)) return undefined;
  const listed = listedCard(gateway, target);
  const tenths = gateway.boundTrust.priceTenths(target);
  return listed && (tenths === undefined ? listed : raiseHolds(listed, tenths / 10));
}

const NO_TOOLS = { serverTools: undefined, nonText: TEXT_ONLY, bytes: Buffer.alloc(0) };

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
    : raiseHolds(listed, tenths / 10);
}

/** A provider whose tokens and tools are both free. A public host may charge for tools although a model is free. */
function isSelfHosted({ provider }: Target, card: PriceCard | undefined): boolean {
  const isPublicHost = Object.hasOwn(PRESETS, provider.name) && !provider.local;
  return card !== undefined && isFree(card) && !isPublicHost;
}
