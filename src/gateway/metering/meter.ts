import { messageOf } from '../../errors.ts';
import { costOf } from '../../pricing/cost.ts';
import { type PriceCard, scaleCard } from '../../pricing/price-card.ts';
import { readReportedCost } from '../../pricing/reported-cost.ts';
import { readUsage, statesOutput } from '../../pricing/usage-payload.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import { billedTenths } from '../../wire/request/surcharges.ts';
import type { RequestWire } from '../../wire/wire.ts';
import type { Admitted } from '../admission/admitted.ts';
import { callsOf } from '../admission/admitted.ts';
import { feesWith, inputWith } from '../admission/quote.ts';
import type { Gateway } from '../context/gateway.ts';
import type { CallEnd } from '../upstream/send.ts';
import { clampCost, clampUsage } from './clamp-usage.ts';
import { estimateUsage } from './estimate-usage.ts';
import type { Metered, Metering } from './metered.ts';
import { NOTHING_USED } from './metered.ts';

/** What a call that ended so used and what that costs, whatever is wrong with its answer; nothing if it was never sent. */
export function meterCall(gateway: Gateway, metering: Metering, end: CallEnd): Metered | Promise<Metered> {
  if ('sent' in end && !end.sent) return NOTHING_USED;
  try {
    return meter(gateway, metering);
  } catch (error) {
    return meterAtBound(gateway, metering.admitted, error);
  }
}

/**
 * What the provider reports is what is booked; where it reports nothing, the least bound that can be defended. An error
 * status is booked at what it reports, which is nothing: providers do not bill failed requests. A stream that fails
 * when it has begun has a good status, and what came of it is booked.
 */
function meter(gateway: Gateway, metering: Metering): Metered | Promise<Metered> {
  const { relay, admitted } = metering;
  const stated = readUsage(relay.usage);
  const plausible = stated && clampUsage(stated, admitted.quote);
  const reported = plausible?.value;
  if (reported && isAll(reported, metering)) {
    const metered = withCharge(gateway, reported, metering);
    return plausible.wasCut ? asImpossible(gateway, metered) : metered;
  }
  if (relay.status >= 400) return priced(reported ?? NO_USAGE, admitted, 0);
  const { wire } = metering.context;
  if (wire.unreported === undefined) return estimated(gateway, wire, metering, reported);
  return { usage: NO_USAGE, costNanoUsd: 0, flags: wire.unreported === 'unmetered' ? FLAGS.unmetered : 0 };
}

/** At what the provider says that it charged, else at its prices and on the terms that it reports. */
function withCharge(gateway: Gateway, usage: TokenUsage, metering: Metering): Metered {
  const { relay, target, admitted, context } = metering;
  const charged = readReportedCost(target.provider.name, relay.usage);
  if (charged !== undefined) {
    const { value, wasCut } = clampCost(charged);
    return { usage, costNanoUsd: value, flags: wasCut ? FLAGS.estimated : 0 };
  }
  const { card, listed, heldTenths } = admitted.quote;
  const { surcharges } = context.request;
  const tenths = billedTenths(surcharges, relay.usage, target.provider);
  if (!surcharges) gateway.accountSurcharges.learn(target, tenths);
  const isAsHeld = tenths === heldTenths || !listed;
  return withFees(pricedAt(usage, isAsHeld ? card : scaleCard(listed, tenths), 0), metering);
}

function asImpossible(gateway: Gateway, metered: Metered): Metered {
  gateway.warn('a provider reported more tokens than its model can have: the most that it can is booked');
  return { ...metered, flags: metered.flags | FLAGS.estimated };
}

/** What is reported is all there is, unless the answer was cut before its end was, or holds text that it leaves out. */
function isAll({ outputTokens }: TokenUsage, { context, relay, whole }: Metering): boolean {
  if (context.wire.unreported !== undefined) return true;
  if (relay.usageIs === 'opening' || (relay.usageIs === 'so far' && !whole)) return false;
  return outputTokens > 0 || statesOutput(relay.usage) || relay.receivedText().every((text) => text === '');
}

/**
 * Never above the hold, whatever came: that is what the budgets were asked for, and a guess must not break a cap. Where
 * the text itself shows that it was more, the record says so (`overrun`).
 */
async function estimated(
  gateway: Gateway,
  wire: RequestWire,
  metering: Metering,
  reported: TokenUsage = NO_USAGE,
): Promise<Metered> {
  const { admitted } = metering;
  const least = priced(reported, admitted, FLAGS.estimated);
  try {
    const estimate = await estimateUsage(gateway, wire, metering);
    const usage = atLeast(reported, estimate.usage);
    const flags = FLAGS.estimated | (estimate.isBeyondLimit ? FLAGS.overrun : 0);
    if (estimate.isBeyondLimit) {
      const { provider, model } = metering.target;
      gateway.warn(
        `${provider.name}/${model} wrote more than it was allowed and reported no usage: it is booked at its hold, and may be billed at more`,
      );
    }
    const most = withinHold(withHeldFees(priced(usage, admitted, flags), admitted), admitted);
    return { ...most, costNanoUsd: Math.max(most.costNanoUsd, least.costNanoUsd) };
  } catch (error) {
    return meterAtBound(gateway, admitted, error);
  }
}

/** The input is reported from the start, if it is; of the output, more may have come since. */
function atLeast(reported: TokenUsage, estimate: TokenUsage): TokenUsage {
  const outputTokens = Math.max(reported.outputTokens, estimate.outputTokens);
  return { ...(reported.inputTokens > 0 ? reported : estimate), outputTokens };
}

/** All that the request may have used, for an answer that gw fails to read: its hold has to be settled all the same. */
export function meterAtBound(gateway: Gateway, admitted: Admitted, error: unknown): Metered {
  gateway.warn(`an answer could not be read, and is booked at its bound: ${messageOf(error)}`);
  const { outputTokens, choices, beyondLimit } = admitted.quote;
  const inputTokens = inputWith(admitted.quote, callsOf(admitted));
  const usage = { ...NO_USAGE, inputTokens, outputTokens: (outputTokens + beyondLimit) * choices };
  return withinHold(withHeldFees(priced(usage, admitted, FLAGS.estimated), admitted), admitted);
}

/** With what the provider charges for its own tools, as far as its answer tells. */
function withFees(metered: Metered, { admitted, relay }: Metering): Metered {
  const { tools } = admitted.quote;
  if (!tools) return metered;
  const fees = tools.feesOf(relay.usage);
  // A broken provider may report any number of calls, as of tokens.
  const { value: costNanoUsd, wasCut } = clampCost(
    metered.costNanoUsd + (fees ?? feesWith(admitted.quote, callsOf(admitted))),
  );
  const isEstimate = tools.isEstimate || fees === undefined || wasCut;
  const flags = (isEstimate ? FLAGS.estimated : 0) | (tools.unknown ? FLAGS.unpriced : 0);
  return { ...metered, costNanoUsd, flags: metered.flags | flags };
}

/** With all fees that were held for, where nothing tells how many calls there were. */
function withHeldFees(metered: Metered, admitted: Admitted): Metered {
  const fees = feesWith(admitted.quote, callsOf(admitted));
  return fees === 0 ? metered : { ...metered, costNanoUsd: metered.costNanoUsd + fees };
}

function withinHold(metered: Metered, { remaining, heldNanoUsd }: Admitted): Metered {
  if (remaining === null) return metered;
  return { ...metered, costNanoUsd: Math.min(metered.costNanoUsd, heldNanoUsd) };
}

function priced(usage: TokenUsage, { quote }: Admitted, flags: number): Metered {
  return pricedAt(usage, quote.card, flags);
}

function pricedAt(usage: TokenUsage, card: PriceCard | undefined, flags: number): Metered {
  const used = usage.inputTokens > 0 || usage.outputTokens > 0;
  if (!used) return { usage, costNanoUsd: 0, flags };
  if (card) return { usage, costNanoUsd: costOf(usage, card), flags };
  return { usage, costNanoUsd: 0, flags: flags | FLAGS.unpriced };
}
