import { messageOf } from '../../errors.ts';
import { amountOf, bookBound, NO_COST } from '../../money.ts';
import { costOf, worstCase } from '../../pricing/cost.ts';
import { deploymentOf } from '../../pricing/deployments.ts';
import { billedAsInUse, findInLibrary } from '../../pricing/library.ts';
import { fields } from '../../pricing/payload-fields.ts';
import { nanoFromPico } from '../../pricing/pico.ts';
import { type PriceCard, scaleCard } from '../../pricing/price-card.ts';
import { rateAt } from '../../pricing/rate.ts';
import { readReportedCost } from '../../pricing/reported-cost.ts';
import { routerFee } from '../../pricing/router-fees.ts';
import { regionalCard } from '../../pricing/service-factors.ts';
import { readReport, type UsageReport, usageRules } from '../../pricing/usage-payload.ts';
import { makerOf } from '../../providers/presets.ts';
import { isOwnHost } from '../../providers/registry.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import { isSameModel } from '../../wire/answer/served-model.ts';
import { type BilledFactor, billedFactor } from '../../wire/request/surcharges.ts';
import type { RequestWire } from '../../wire/wire.ts';
import { type Admitted, callsOf, limitOf, worstCaseOf } from '../admission/admitted.ts';
import { feesWith, inputWith, type MediaCost } from '../admission/quote.ts';
import { readAgain } from '../answer/answer-receiver.ts';
import { headOf, isFrom } from '../answer/opening.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Target } from '../state/resolver.ts';
import type { CallEnd } from '../upstream/send.ts';
import { estimateUsage } from './estimate-usage.ts';
import { clampCost, clampUsage, type Metered, type Metering, NOTHING_USED } from './metered.ts';
import { billTools } from './tool-bill.ts';

export type MeterParts = Pick<
  Gateway,
  'catalog' | 'clock' | 'containers' | 'settings' | 'accountSurcharges' | 'tokens' | 'warn'
>;

/** Meters a call: its usage and cost. Never fails; an answer that can't be read is booked at the quote's bounds. */
export function meterCall(gateway: MeterParts, metering: Metering, end: CallEnd): Metered | Promise<Metered> {
  if ('sent' in end && !end.sent) return NOTHING_USED;
  try {
    return meter(gateway, metering);
  } catch (error) {
    return meterAtBound(gateway, metering.admitted, error);
  }
}

/**
 * Books the usage that the provider reports, or an estimate if it reports none. An error status without usage costs
 * nothing, since providers don't bill failed requests. A stream that breaks off has status 200, and its usage is
 * estimated.
 */
function meter(gateway: MeterParts, metering: Metering): Metered | Promise<Metered> {
  const { relay, admitted, target, context } = metering;
  const { media } = admitted.quote;
  const report = readReport(
    relay.usage,
    usageRules(target.provider.name, target.model, context.wire.endpoint),
  );
  const clamped = report && clampUsage(report.usage, admitted.quote);
  const usage = clamped?.value;
  if (media?.isPrice && relay.status < 400) return meterMedia(media, relay.usage, usage);
  if (report && usage && isComplete(usage, metering)) {
    const { conflicts } = report;
    const parts = clamped.wasCut ? [{ model: undefined, usage }] : report.parts;
    const metered = flagConflicts(meterReported(gateway, { usage, parts }, metering), conflicts);
    if (!clamped.wasCut) return metered;
    gateway.warn(
      'a provider reported more tokens than its model can have: gw booked the most that it can have',
    );
    return { ...metered, flags: metered.flags | FLAGS.estimated };
  }
  if (relay.status >= 400) return priceAt(usage ?? NO_USAGE, admitted.quote.card, 0);
  const { wire } = metering.context;
  if (wire.unreported === undefined) return meterEstimated(gateway, wire, metering, usage);
  if (media) return meterMedia(media, relay.usage);
  return {
    usage: NO_USAGE,
    costNanoUsd: NO_COST,
    flags: wire.unreported === 'unmetered' ? FLAGS.unmetered : 0,
  };
}

/** Books pictures, sound and film: by the seconds that the answer reports, or what the request asked for. */
function meterMedia({ amount, second }: MediaCost, report: unknown, usage: TokenUsage = NO_USAGE): Metered {
  const { seconds } = fields(report);
  if (!second || typeof seconds !== 'number' || !(seconds >= 0))
    return { usage, costNanoUsd: amountOf(amount), flags: 0 };
  const billed = BigInt(Math.max(Math.ceil(Math.min(seconds, MAX_SECONDS)), second.least));
  const { value, wasCut } = clampCost(amountOf(nanoFromPico(second.picoUsd * billed)));
  return { usage, costNanoUsd: value, flags: wasCut ? FLAGS.estimated : 0 };
}

/** A year. */
const MAX_SECONDS = 31_536_000;

/** Prices reported usage: at the cost that the provider reports, else at its prices with the surcharges it reports. */
function meterReported(
  gateway: MeterParts,
  reported: Pick<UsageReport, 'usage' | 'parts'>,
  metering: Metering,
): Metered {
  const { usage } = reported;
  const { relay, target, context } = metering;
  const billed = billedAt(metering);
  const priced = addRouterFee(priceServed(gateway, metering, reported, billedCard(metering, billed)), target);
  const reportedCost = readReportedCost(target.provider.name, relay.usage);
  if (reportedCost !== undefined) {
    const { value, wasCut } = clampCost(amountOf(reportedCost));
    const { servedModel } = priced;
    const flags = (priced.flags & FLAGS.other_model) | (wasCut ? FLAGS.estimated : 0);
    return { usage, costNanoUsd: value, flags, servedModel };
  }
  gateway.accountSurcharges.learn(target, context.request.surcharges, relay.usage);
  const known = billed.isKnown
    ? priced
    : { ...priced, flags: priced.flags | FLAGS.estimated, assumed: [SERVICE_PRICE] };
  return billTools(gateway, known, metering, feesWith(metering.admitted.quote, callsOf(metering.admitted)));
}

/** The prices with the surcharges that an answer reports. */
export function billedCard(
  metering: Priced,
  { factor }: BilledFactor = billedAt(metering),
): PriceCard | undefined {
  const { card, listed, priceFactor } = metering.admitted.quote;
  return factor === priceFactor || !listed ? card : scaleCard(listed, factor);
}

type Priced = Pick<Metering, 'context' | 'target' | 'admitted' | 'relay'>;

function billedAt({ context, target, relay }: Priced): BilledFactor {
  return billedFactor(context.request.surcharges, relay.usage, target.provider, target.model);
}

const SERVICE_PRICE = 'the price of the service tier, speed or region for this model';

function flagConflicts(metered: Metered, conflicts: readonly string[]): Metered {
  return conflicts.length === 0
    ? metered
    : { ...metered, flags: metered.flags | FLAGS.inconsistent, conflicts };
}

/**
 * Whether the usage covers the whole answer: the report was not an early one, and the answer doesn't contradict it, as
 * text does without output tokens, and output without input. A zero that nothing contradicts stands.
 */
function isComplete({ inputTokens, outputTokens }: TokenUsage, { context, relay, whole }: Metering): boolean {
  if (context.wire.unreported !== undefined) return true;
  if (relay.usageIs === 'opening' || (relay.usageIs === 'so far' && !whole)) return false;
  if (outputTokens > 0) return inputTokens > 0;
  return relay.receivedText().every((text) => text === '');
}

/**
 * Meters an answer without complete usage, at no more than the request can cost with the limits that it was sent with. If
 * the text shows that the answer was longer than they allow, the record is flagged `overrun`.
 */
async function meterEstimated(
  gateway: MeterParts,
  wire: RequestWire,
  metering: Metering,
  reportedUsage: TokenUsage = NO_USAGE,
): Promise<Metered> {
  const { admitted } = metering;
  const reported = priceAt(reportedUsage, admitted.quote.card, FLAGS.estimated);
  try {
    const estimate = await estimateUsage(gateway, wire, metering);
    if (estimate.isBeyondLimit) return meterOverrun(gateway, metering);
    const usage = combineUsage(withRounds(reportedUsage, metering), estimate.usage);
    const metered = addHeldFees(priceEstimate(usage, metering, reportedUsage.inputTokens > 0), admitted);
    return { ...metered, costNanoUsd: amountOf(Math.max(metered.costNanoUsd, reported.costNanoUsd)) };
  } catch (error) {
    return meterAtBound(gateway, admitted, error);
  }
}

/** With what the model has read again behind results of tools since its early report, as far as it was held. */
function withRounds(reported: TokenUsage, { admitted, relay }: Metering): TokenUsage {
  const { inputTokens } = reported;
  if (inputTokens === 0 || relay.toolResults.count === 0) return reported;
  const held = inputWith(admitted.quote, callsOf(admitted));
  const read = Math.min(readAgain(relay.toolResults, inputTokens), Math.max(0, held - inputTokens));
  return { ...reported, inputTokens: inputTokens + read };
}

/** An early report is final for the input of the first round; of the output, more may have come since. */
function combineUsage(reported: TokenUsage, estimate: TokenUsage): TokenUsage {
  const outputTokens = Math.max(reported.outputTokens, estimate.outputTokens);
  const known = reported.inputTokens > 0 ? reported : estimate;
  const textTokens = known.reasoningTokens + known.audioOutputTokens;
  return { ...known, outputTokens, imageOutputTokens: outputTokens - textTokens };
}

/**
 * Prices estimated usage. Where an answer was broken off and nothing is known of its input, each token of it may have
 * been the dearest: written to a cache, say.
 */
function priceEstimate(
  usage: TokenUsage,
  { admitted, target, whole }: Metering,
  isInputKnown: boolean,
): Metered {
  const { card } = admitted.quote;
  const metered = addRouterFee(priceAt(usage, card, FLAGS.estimated), target);
  if (whole || isInputKnown || !card) return metered;
  const { inputTokens, outputTokens } = usage;
  return { ...metered, costNanoUsd: bookBound(worstCase({ inputTokens, outputTokens, choices: 1 }, card)) };
}

function meterOverrun(gateway: Pick<Gateway, 'warn'>, { admitted, target }: Metering): Metered {
  const { provider, model } = target;
  gateway.warn(
    `${provider.name}/${model} wrote more than its output limit and reported no usage: gw booked the worst case, but the provider may bill more`,
  );
  return priceAtBound(admitted, FLAGS.estimated | FLAGS.overrun);
}

/** Books the worst case of an answer that gw fails to read: its hold has to be settled all the same. */
export function meterAtBound(gateway: Pick<Gateway, 'warn'>, admitted: Admitted, error: unknown): Metered {
  gateway.warn(`an answer could not be read, so gw booked its worst case: ${messageOf(error)}`);
  return priceAtBound(admitted, FLAGS.estimated);
}

function priceAtBound(admitted: Admitted, flags: number): Metered {
  const { choices, beyondLimit, card } = admitted.quote;
  const usage = {
    ...NO_USAGE,
    inputTokens: inputWith(admitted.quote, callsOf(admitted)),
    outputTokens: (limitOf(admitted) + beyondLimit) * choices,
  };
  if (!card) return { usage, costNanoUsd: NO_COST, flags: flags | FLAGS.unpriced };
  return { usage, costNanoUsd: bookBound(worstCaseOf(admitted)), flags };
}

/** Adds the fees of all tool calls that were held for: the answer doesn't tell how many there were. */
function addHeldFees(metered: Metered, admitted: Admitted): Metered {
  const fees = bookBound(feesWith(admitted.quote, callsOf(admitted)));
  return fees === 0 ? metered : { ...metered, costNanoUsd: amountOf(metered.costNanoUsd + fees) };
}

/**
 * Prices reported usage by the models that served it. Where an answer names another model than the request, its provider
 * bills that one; a relay's word is only taken if it costs more. Flags the answer `other_model`.
 */
function priceServed(
  gateway: MeterParts,
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

/** Adds what a router charges for the input, beside the model that it chose. */
function addRouterFee(metered: Metered, { provider, model }: Target): Metered {
  const { inputTokens } = metered.usage;
  const fee = routerFee(provider.name, model);
  if (!fee || inputTokens === 0) return metered;
  const routerFeeNanoUsd = nanoFromPico(BigInt(inputTokens) * rateAt(fee, inputTokens));
  return { ...metered, costNanoUsd: amountOf(metered.costNanoUsd + routerFeeNanoUsd), routerFeeNanoUsd };
}

/** The model that an answer names, if it is another than the requested one. */
function servedModel({ relay, target }: Metering): string | undefined {
  if (isFrom(relay, target.model)) return undefined;
  const model = headOf(relay)?.model;
  return model === undefined || isSameModel(target.model, model) ? undefined : model;
}

/**
 * The prices of a model that the request did not ask for; undefined if they are unknown, or the request's. A name that is
 * no model's own, such as that of a deployment, stands for whatever the owner has priced it as.
 */
function otherCard(
  { catalog, clock }: MeterParts,
  { context, target, admitted, relay }: Metering,
  name: string | undefined,
): PriceCard | undefined {
  const { provider, model } = target;
  if (name === undefined || isSameModel(model, name) || isDeployed(target, name)) return undefined;
  const { listed } = admitted.quote;
  const now = clock.now();
  const isRouter = routerFee(provider.name, model) !== undefined;
  const isAlias =
    !isRouter && makerOf(model) === undefined && findInLibrary(provider.name, model, now) === undefined;
  const maker = makerOf(name);
  const card = catalog().find(provider.name, name, now) ?? (maker && catalog().find(maker, name, now));
  if (!card || card.source === listed?.source) return undefined;
  if (listed && isAlias && !card.source.startsWith('override ')) return undefined;
  const { factor } = billedFactor(context.request.surcharges, relay.usage, provider, name);
  const regional = regionalCard(card, provider, name);
  return regional && factor !== 1 ? scaleCard(regional, factor) : regional;
}

/** Whether the requested name is known to stand for this model, or for one whose tokens are paid by the hour. */
function isDeployed({ provider, model }: Target, name: string): boolean {
  const deployed = deploymentOf(billedAsInUse().get(provider.name), model);
  return deployed !== undefined && (deployed.kind === 'provisioned' || isSameModel(deployed.model, name));
}

function chooseCard(
  { target: { provider } }: Metering,
  usage: TokenUsage,
  own: PriceCard | undefined,
  other: PriceCard | undefined,
): PriceCard | undefined {
  if (!own || !other || isOwnHost(provider) || provider.knownAs === 'azure') return other ?? own;
  return costOf(usage, other) > costOf(usage, own) ? other : own;
}

function priceAt(usage: TokenUsage, card: PriceCard | undefined, flags: number): Metered {
  const used = usage.inputTokens > 0 || usage.outputTokens > 0;
  if (!used) return { usage, costNanoUsd: NO_COST, flags };
  if (card) return { usage, costNanoUsd: costOf(usage, card), flags };
  return { usage, costNanoUsd: NO_COST, flags: flags | FLAGS.unpriced };
}
