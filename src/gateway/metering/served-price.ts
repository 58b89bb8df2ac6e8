import { amountOf, NO_COST } from '../../money.ts';
import { costOf } from '../../pricing/cost.ts';
import { findInLibrary } from '../../pricing/library.ts';
import { type PriceCard, scaleCard } from '../../pricing/price-card.ts';
import { regionalCard } from '../../pricing/service-factors.ts';
import type { UsageReport } from '../../pricing/usage-payload.ts';
import { makerOf } from '../../providers/makers.ts';
import { isOwnHost } from '../../providers/own-host.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import type { TokenUsage } from '../../usage.ts';
import { isSameModel } from '../../wire/answer/served-model.ts';
import { billedFactor } from '../../wire/request/surcharges.ts';
import { headOf } from '../answer/opening.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Metered, Metering } from './metered.ts';

type PriceParts = Pick<Gateway, 'catalog' | 'clock'>;

/**
 * Prices reported usage by the models that served it. Where an answer names another model than the request, its provider
 * bills that one; a relay's word is only taken if it costs more. Flags the answer `other_model`.
 */
export function priceServed(
  gateway: PriceParts,
  metering: Metering,
  { usage, parts }: Pick<UsageReport, 'usage' | 'parts'>,
  own: PriceCard | undefined,
): Metered {
  const served = servedModel(metering);
  const names = parts.map(({ model }) => model ?? served);
  const cards = names.map((name) => otherCard(gateway, metering, name));
  const at = cards.findIndex((card) => card !== undefined);
  if (at < 0) return priceAt(usage, own, 0);
  const priced = parts.map((part, i) =>
    priceAt(part.usage, chooseCard(metering, part.usage, own, cards[i]), 0),
  );
  const sum = (total: number, { costNanoUsd }: Metered) => total + costNanoUsd;
  const all = (total: number, { flags }: Metered) => total | flags;
  return {
    usage,
    costNanoUsd: amountOf(priced.reduce(sum, 0)),
    flags: priced.reduce(all, FLAGS.other_model),
    servedModel: names[at],
  };
}

/** The model that an answer names, if it is another than the requested one. */
function servedModel({ relay, target }: Metering): string | undefined {
  const model = headOf(relay)?.model;
  return model === undefined || isSameModel(target.model, model) ? undefined : model;
}

/**
 * The prices of a model that the request did not ask for; undefined if they are unknown, or the request's. A name that is
 * no model's own, such as that of a deployment, stands for whatever the owner has priced it as.
 */
function otherCard(
  { catalog, clock }: PriceParts,
  { context, target, admitted, relay }: Metering,
  name: string | undefined,
): PriceCard | undefined {
  const { provider, model } = target;
  if (name === undefined || isSameModel(model, name)) return undefined;
  const { listed } = admitted.quote;
  const now = clock.now();
  const isAlias = makerOf(model) === undefined && findInLibrary(provider.name, model, now) === undefined;
  const maker = makerOf(name);
  const card = catalog().find(provider.name, name, now) ?? (maker && catalog().find(maker, name, now));
  if (!card || card.source === listed?.source) return undefined;
  if (listed && isAlias && !card.source.startsWith('override ')) return undefined;
  const { factor } = billedFactor(context.request.surcharges, relay.usage, provider, name);
  const regional = regionalCard(card, provider, name);
  return regional && factor !== 1 ? scaleCard(regional, factor) : regional;
}

function chooseCard(
  { target: { provider } }: Metering,
  usage: TokenUsage,
  own: PriceCard | undefined,
  other: PriceCard | undefined,
): PriceCard | undefined {
  if (!own || !other || isOwnHost(provider) || provider.name === 'azure') return other ?? own;
  return costOf(usage, other) > costOf(usage, own) ? other : own;
}

export function priceAt(usage: TokenUsage, card: PriceCard | undefined, flags: number): Metered {
  const used = usage.inputTokens > 0 || usage.outputTokens > 0;
  if (!used) return { usage, costNanoUsd: NO_COST, flags };
  if (card) return { usage, costNanoUsd: costOf(usage, card), flags };
  return { usage, costNanoUsd: NO_COST, flags: flags | FLAGS.unpriced };
}
