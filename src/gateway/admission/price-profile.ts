import { dependsOn, type PriceCard } from '../../pricing/price-card.ts';
import { ANY_PRICE, type CacheWrites, longerWrites, type PriceProfile } from '../../pricing/price-profile.ts';
import { isOwnHost } from '../../providers/own-host.ts';
import type { Provider } from '../../providers/registry.ts';
import { audioIn } from '../../wire/request/audio-words.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import { nonTextOf } from './measure-prompt.ts';

/** What reading a request can find out about its price; most cards leave out one or both. */
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
