import type { Saving } from '../../compression/compress-request.ts';
import { formatUsd, type NanoUsd, usdNumber } from '../../money.ts';
import { costOf, worstCase } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { FLAGS, type RequestRecord } from '../../store/ledger/record.ts';
import { definedFields } from '../../translation/json.ts';
import type { TokenUsage } from '../../usage.ts';
import { billedFactor } from '../../wire/request/surcharges.ts';
import { callsOf, isSearchLeftOut, limitOf } from '../admission/admitted.ts';
import { loweredLimit } from '../admission/need.ts';
import { feesWith, inputWith } from '../admission/quote.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf, type TierChoice } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import { type FoundMiss, findCacheMiss } from '../metering/cache-miss.ts';
import { type MeterParts, meterCall } from '../metering/meter.ts';
import type { Metered } from '../metering/metered.ts';
import { tierDetail } from '../routing/describe-tier.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { entryOf, outcomeWord, summed } from './history.ts';
import { recordedOutcome } from './outcome.ts';

export type SettleParts = MeterParts &
  Pick<
    Gateway,
    'azureDeployments' | 'budgetScopes' | 'cachedPrompts' | 'catalog' | 'settleRetry' | 'queue' | 'boundTrust'
  >;

/** Flags of requests whose cost is unknown, or no money. */
const NO_COST = FLAGS.unpriced | FLAGS.not_billed;

/** The result of a settlement. */
export interface Settlement {
  /** Usage of the last attempt. */
  usage: TokenUsage;
  /** Flags of the last attempt: whether its usage is an estimate. */
  flags: number;
  outcome: RequestRecord['outcome'];
  /** Of all attempts; at list price where it is not billed. */
  costNanoUsd: NanoUsd;
}

/** Turns the hold into the cost of all the request's attempts, and wakes requests that wait for room. */
export async function settle(
  gateway: SettleParts,
  attempt: Attempt,
  result: AttemptResult,
): Promise<Settlement> {
  const { context, target, admitted } = attempt;
  const { headers, sentAt, relay } = result;
  const last = result.metered ?? (await meterAttempt(gateway, attempt, result));
  const savedByTierNanoUsd = context.tier && savedByTier(gateway, context.tier, last);
  if (savedByTierNanoUsd !== undefined && savedByTierNanoUsd > 0)
    headers.route += `; saved=${formatUsd(savedByTierNanoUsd)}`;
  const missed = findCacheMiss(gateway, { context, target, admitted, sentAt, relay }, last);
  const record = recordFor(gateway, attempt, result, { last, savedByTierNanoUsd, missed });
  checkBounds(gateway, attempt, result, last);
  gateway.azureDeployments.learn(target, last.servedModel);
  context.exchange.recorded = true;
  const settled = await gateway.settleRetry.settle(record);
  gateway.queue.wake(queueKeyOf(context, gateway.budgetScopes(), target));
  headers.costNanoUsd = record.flags & NO_COST ? undefined : record.costNanoUsd;
  headers.remainingNanoUsd = settled.kind === 'settled' ? settled.remaining : null;
  return { usage: last.usage, flags: last.flags, outcome: record.outcome, costNanoUsd: record.costNanoUsd };
}

/** Figures of the last attempt. */
interface Ended {
  last: Metered;
  savedByTierNanoUsd: NanoUsd | undefined;
  missed: FoundMiss | undefined;
}

/** Not inlined in `settle`: an async function keeps its variables alive while it waits. */
function recordFor(
  gateway: Pick<Gateway, 'clock'>,
  attempt: Attempt,
  result: AttemptResult,
  { last, savedByTierNanoUsd, missed }: Ended,
): RequestRecord {
  const { context, target, admitted, route } = attempt;
  const { firstByteAt } = result.relay;
  const before = route?.history;
  const { usage, costNanoUsd, flags } = before ? summed(before, last) : last;
  const { status, outcome, detail: cause } = recordedOutcome(result);
  const lowered = loweredLimit(admitted.quote, admitted.limit, route?.context.request.maxOutputTokens);
  const leftOut = isSearchLeftOut(attempt) ? [...(context.leftOut ?? []), SEARCH] : context.leftOut;
  const { retriedWithout } = context;
  const told = withFields(cause, {
    retried_without: retriedWithout?.length ? retriedWithout : undefined,
    left_out: leftOut?.length ? leftOut : undefined,
    login: route ? undefined : attempt.login,
    optimizer: context.optimized?.work,
    ...meteredFields(last),
    cache_miss: missed?.place,
  });
  const detail = before ? historyDetail(gateway, attempt, result, last, told) : told;
  return recordOf(
    context,
    target,
    {
      status,
      outcome,
      detail: context.tier ? { ...detail, tier: tierDetail(context.tier, savedByTierNanoUsd) } : detail,
      lowered,
      missed,
      upstreamMessageId: result.upstreamMessageId || undefined,
      upstreamRequestId: result.upstreamRequestId || undefined,
      usage,
      costNanoUsd,
      flags: isUnderheld(attempt, last) ? flags | FLAGS.underheld : flags,
      savedNanoUsd: savedMoney(context.optimized?.savings ?? [], last.usage, admitted.quote.card),
      firstByteMs: firstByteAt === undefined ? null : firstByteAt - context.exchange.startedAt,
    },
    gateway.clock.monotonic(),
  );
}

const SEARCH = 'tools[] (web_search)';

type Detail = Record<string, unknown> | undefined;

/** The detail with the fields that have a value. */
function withFields(detail: Detail, fields: Record<string, unknown>): Detail {
  const known = definedFields(fields);
  return Object.keys(known).length > 0 ? { ...detail, ...known } : detail;
}

const meteredFields = ({ servedModel, routerFeeNanoUsd, assumed, conflicts }: Metered) => ({
  served_model: servedModel,
  router_fee_usd: routerFeeNanoUsd === undefined ? undefined : usdNumber(routerFeeNanoUsd),
  assumed,
  conflicts: conflicts?.slice(0, 8),
});

/** Whether it cost more than a budget held for it. What is passed through has no worst case to be held, unless it is media. */
function isUnderheld({ admitted, route }: Attempt, { costNanoUsd }: Metered): boolean {
  return (
    (route !== undefined || admitted.quote.media !== undefined) &&
    admitted.remaining !== null &&
    costNanoUsd > admitted.heldNanoUsd
  );
}

/** The record's detail of a request with several attempts. */
function historyDetail(
  gateway: Pick<Gateway, 'clock'>,
  { target, route }: Attempt,
  { relay, sentAt, failure }: AttemptResult,
  metered: Metered,
  detail: Record<string, unknown> | undefined,
): Record<string, unknown> {
  const durationMs = gateway.clock.monotonic() - sentAt;
  const last = entryOf(target, outcomeWord(failure, relay.status), { durationMs, metered });
  return { ...detail, attempts: [...(route?.history?.entries ?? []), last] };
}

/** Tokens that end an answer, which some providers count beyond its limit. */
const ENDING_TOKENS = 16;
/** Reported costs are rounded: by a thousandth, and by a millionth of a dollar. */
const ROUNDING = 1.001;
const ROUNDING_NANO_USD = 1_000;
/** A request that violates xAI's guidelines costs this much more, whatever its tokens. */
const FEES_NOT_HELD: Readonly<Record<string, NanoUsd>> = { xai: 50_000_000 };
/** One report raises prices by no more than this: a broken one would block its model. */
const MAX_TENTHS = 100;

/** A report above its bound shows that an assumption about the provider is wrong: that bound is not used again. */
export function checkBounds(
  { boundTrust }: Pick<Gateway, 'boundTrust'>,
  attempt: Attempt,
  { relay, failure }: Pick<AttemptResult, 'relay' | 'failure'>,
  metered: Metered,
): void {
  const { context, target, admitted, route } = attempt;
  const { quote } = admitted;
  const { usage, flags, costNanoUsd } = metered;
  const { id } = context.exchange;
  if (context.wire.unreported === 'free' && (costNanoUsd > 0 || usage.outputTokens > 0))
    boundTrust.distrust({ ...target, model: context.wire.endpoint }, 'free', id);
  if (quote.media && costNanoUsd > quote.amount) boundTrust.distrust(target, 'output', id);
  // Other passed-through requests have no bounds.
  if (!route || !quote.card) return;
  const limit = (admitted.limit ?? context.request.maxOutputTokens) === undefined ? 'maximum' : 'output';
  // An error page is longer than a limit too, but no answer of the model.
  if (flags & FLAGS.overrun && !failure) boundTrust.distrust(target, limit, id);
  if (flags & FLAGS.estimated) return;
  const isCode = quote.tools?.addedTokens !== undefined;
  const bound = isCode ? 'code' : quote.inputBound;
  if (usage.inputTokens > inputWith(quote, callsOf(admitted)) && bound !== 'bytes')
    boundTrust.distrust(target, bound, id);
  const most = (limitOf(admitted) + quote.beyondLimit) * quote.choices;
  // The rounds of the provider's tools have a limit each.
  if (!quote.tools && usage.outputTokens > most + ENDING_TOKENS) boundTrust.distrust(target, limit, id);
  const tenths = exceededPrice(attempt, relay.usage, metered);
  if (tenths !== undefined) boundTrust.raisePrice(target, tenths, id);
}

/** Cost of the answer in tenths of the listed prices, if it exceeds the dearest price for its tokens. */
function exceededPrice(
  { context, target, admitted }: Attempt,
  reported: unknown,
  { usage, costNanoUsd, flags }: Metered,
): number | undefined {
  const { card, listed, priceFactor } = admitted.quote;
  if (!card || !listed || flags & FLAGS.unpriced) return undefined;
  const { inputTokens, outputTokens } = usage;
  const tokens = { inputTokens, outputTokens, choices: 1 };
  const fees = feesWith(admitted.quote, callsOf(admitted)) + (FEES_NOT_HELD[target.provider.name] ?? 0);
  const cost = costNanoUsd - fees;
  const most = worstCase(tokens, card);
  if (cost <= most) return undefined;
  // A surcharge that an answer reports is known to the account's surcharges.
  const surcharge = Math.max(
    billedFactor(context.request.surcharges, reported, target.provider, target.model).factor,
    priceFactor,
  );
  if (cost <= ((most * surcharge) / priceFactor) * ROUNDING + ROUNDING_NANO_USD) return undefined;
  const dearest = worstCase(tokens, listed) * surcharge;
  return dearest === 0 ? MAX_TENTHS : Math.min(Math.max(Math.ceil((10 * cost) / dearest), 10), MAX_TENTHS);
}

/** Usage and cost of one attempt. */
export function meterAttempt(
  gateway: MeterParts,
  { context, target, admitted }: Attempt,
  { relay, sentAt, end }: AttemptResult,
): Metered | Promise<Metered> {
  // A stream with an error event is incomplete: the provider did not send the rest.
  const whole = end.kind === 'complete' && relay.streamError === undefined;
  const mayGoOn = end.kind !== 'complete';
  return meterCall(gateway, { context, target, admitted, relay, sentAt, whole, mayGoOn }, end);
}

/**
 * Estimate of what the removed tokens would have cost. A token counts at the price of the part of the prompt that it
 * was removed from: read from the provider's cache, written to it, or neither.
 */
export function savedMoney(
  savings: readonly Saving[],
  usage: TokenUsage,
  card: PriceCard | undefined,
): NanoUsd {
  if (!card || savings.length === 0 || usage.inputTokens === 0) return 0;
  const read = usage.cachedInputTokens;
  const written = usage.cacheWriteTokens + usage.cacheWrite1hTokens;
  // Object.assign is cheaper than a spread, and this runs for every request.
  const original: TokenUsage = Object.assign({}, usage);
  for (const { tokens, tokensBehind } of savings) {
    // Counted from the end, since the length of what precedes the conversation (tools, instructions) is unknown.
    const position = usage.inputTokens - tokensBehind;
    original.inputTokens += tokens;
    if (position <= read) original.cachedInputTokens += tokens;
    else if (position > read + written) continue;
    else if (usage.cacheWrite1hTokens > usage.cacheWriteTokens) original.cacheWrite1hTokens += tokens;
    else original.cacheWriteTokens += tokens;
  }
  return costOf(original, card) - costOf(usage, card);
}

/** Estimate, in nano-USD, of how much more the strong tier would have cost for the weak tier's usage. */
function savedByTier(
  { catalog, clock }: Pick<Gateway, 'clock' | 'catalog'>,
  { decision, strong }: TierChoice,
  { usage, costNanoUsd }: Metered,
): number | undefined {
  if (!decision.applied || decision.tier === 'strong') return undefined;
  const card = catalog().find(strong.provider.name, strong.model, clock.now());
  return card && costOf(usage, card) - costNanoUsd;
}
