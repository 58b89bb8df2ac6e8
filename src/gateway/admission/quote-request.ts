import { isFree } from '../../pricing/cost.ts';
import {
  cardFor,
  dependsOn,
  holdInputFee,
  type PriceCard,
  raiseHolds,
  scaleCard,
  withFallbacks,
} from '../../pricing/price-card.ts';
import { ANY_PRICE, type CacheWrites, longerWrites, type PriceProfile } from '../../pricing/price-profile.ts';
import { routerFee } from '../../pricing/router-fees.ts';
import { regionalCard } from '../../pricing/service-factors.ts';
import { PRESETS } from '../../providers/presets.ts';
import { isOwnHost, type Provider } from '../../providers/registry.ts';
import { audioIn } from '../../wire/request/audio-words.ts';
import { TEXT_ONLY } from '../../wire/request/non-text-input.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { InputBound } from '../state/bound-trust.ts';
import type { Target } from '../state/resolver.ts';
import { nonTextOf } from './measure-prompt.ts';
import { type Quote, quote } from './quote.ts';
import { toolFees, toolsFor } from './tool-fees.ts';

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
  const scaled = own && priceFactor !== 1 ? scaleCard(own, priceFactor) : own;
  const fee = routerFee(provider.name, model);
  const card = scaled && fee ? holdInputFee(scaled, fee) : scaled;
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

/** Kinds of price that a request's body decides; most cards have only one or none. */
const WRITES: Partial<PriceProfile> = { cacheWrites: '1h' };
const AUDIO: Partial<PriceProfile> = { audioInput: true, audioOutput: true };

/**
 * The kinds of price that can apply to a request, in the form in which a target gets it. The body is searched only for
 * what the card has a price for.
 */
export function priceProfile(context: RequestContext, target: Target, card: PriceCard): PriceProfile {
  const { request } = context;
  const { writes, audio } = listedKinds(card);
  const { audioInput, audioOutput } = audio
    ? audioIn(
        { bytes: request.bytes, members: request.members, nonText: nonTextOf(context) },
        `${target.model} ${card.source}`,
      )
    : ANY_PRICE;
  return {
    cacheWrites: writes ? cacheWrites(request, target.provider) : ANY_PRICE.cacheWrites,
    audioInput,
    audioOutput,
    longInput: mayBeLong(context, target),
  };
}

interface ListedKinds {
  writes: boolean;
  audio: boolean;
}

/** By card: every request asks. */
const kindsOfCards = new WeakMap<PriceCard, ListedKinds>();

/** The kinds of token that a card has prices of their own for. */
function listedKinds(card: PriceCard): ListedKinds {
  const known = kindsOfCards.get(card);
  if (known) return known;
  const kinds = { writes: dependsOn(card, WRITES), audio: dependsOn(card, AUDIO) };
  kindsOfCards.set(card, kinds);
  return kinds;
}

/** The makers that write to their cache only what a request marks. Others may write any input unasked. */
const WRITES_BY_MARK: ReadonlySet<string> = new Set(['anthropic']);
/** Fields that continue a conversation which the provider stores, with marks that gw doesn't see. */
const STORED = ['thread', 'compaction'];

function cacheWrites(request: WireRequest, provider: Provider): CacheWrites {
  if (request.members.some(({ key }) => STORED.includes(key))) return '1h';
  const marked = request.cacheWrites ?? '1h';
  if (isOwnHost(provider)) {
    const isByMark = WRITES_BY_MARK.has(provider.name) && provider.wire === 'anthropic';
    return isByMark ? marked : longerWrites(marked, 'default');
  }
  // A relay may add marks of any lifetime to a request that has none.
  return marked === 'none' ? '1h' : marked;
}

/** Models with prices for long inputs that Anthropic serves only to requests with this beta, and refuses to others. */
const LONG_BY_BETA = /^claude-sonnet-4-5(-\d{8})?$/;
const LONG_BETA = 'context-1m';

/** The fields that name betas in the body, for relays. */
const BETA_FIELDS = ['betas', 'anthropic_beta'];

function mayBeLong(context: RequestContext, { provider, model }: Target): boolean {
  const { exchange, request } = context;
  if (provider.name !== 'anthropic' || !LONG_BY_BETA.test(model)) return true;
  // The usage of several rounds is reported, and settled, as one input.
  if (request.serverTools !== undefined || nonTextOf(context).context) return true;
  const header = String(exchange.request.headers['anthropic-beta'] ?? '');
  return header.includes(LONG_BETA) || request.members.some(({ key }) => BETA_FIELDS.includes(key));
}
