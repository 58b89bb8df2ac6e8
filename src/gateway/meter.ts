import { messageOf } from '../errors.ts';
import type { NanoUsd } from '../money.ts';
import { costOf, isFree } from '../pricing/cost.ts';
import { readReportedCost } from '../pricing/reported-cost.ts';
import { readUsage, statesOutput } from '../pricing/usage-payload.ts';
import { FLAGS } from '../store/ledger/record.ts';
import { tokenBound } from '../tokens/bound.ts';
import { encodingOf } from '../tokens/encoding.ts';
import { NO_USAGE, type TokenUsage } from '../usage.ts';
import { type Admitted, unseenBound } from './admit.ts';
import type { Gateway } from './gateway.ts';
import type { Job } from './job.ts';
import { feesWith, inputWith } from './quote.ts';
import type { Relay } from './relay.ts';
import type { Target } from './resolve.ts';

/** What a request used, what that costs, and the flags that say how sure this is. */
export interface Metered {
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  flags: number;
}

export interface Metering {
  job: Job;
  target: Target;
  admitted: Admitted;
  relay: Relay;
  /** When the request went out, monotonic milliseconds. */
  sentAt: number;
  /** The provider ended the answer itself, so nothing is on its way any more. */
  whole: boolean;
}

/** What the provider reports is what is booked; where it reports nothing, the least bound that can be defended. */
export function meter(gateway: Gateway, metering: Metering): Metered | Promise<Metered> {
  const { relay, admitted, target } = metering;
  const reported = readUsage(relay.usage);
  if (reported && isAll(reported, metering)) {
    const charged = readReportedCost(target.provider.name, relay.usage);
    if (charged !== undefined) return { usage: reported, costNanoUsd: charged, flags: 0 };
    return withFees(priced(reported, admitted, 0), metering);
  }
  // An error is not billed, and an answer to nobody's liking without usage is.
  if (relay.status >= 400) return priced(reported ?? NO_USAGE, admitted, 0);
  const { unreported } = metering.job.wire;
  if (unreported === undefined) return estimated(gateway, metering, reported);
  return { usage: NO_USAGE, costNanoUsd: 0, flags: unreported === 'unmetered' ? FLAGS.unmetered : 0 };
}

/** What is reported is all there is, unless the answer was cut before its end was, or holds text that it leaves out. */
function isAll({ outputTokens }: TokenUsage, { job, relay, whole }: Metering): boolean {
  if (job.wire.unreported !== undefined) return true;
  if (relay.usageIs === 'opening' || (relay.usageIs === 'so far' && !whole)) return false;
  return outputTokens > 0 || statesOutput(relay.usage) || relay.receivedText().every((text) => text === '');
}

async function estimated(
  gateway: Gateway,
  metering: Metering,
  reported: TokenUsage = NO_USAGE,
): Promise<Metered> {
  const { admitted } = metering;
  const least = priced(reported, admitted, FLAGS.estimated);
  try {
    const usage = atLeast(reported, await estimate(gateway, metering));
    const most = withinHold(withHeldFees(priced(usage, admitted, FLAGS.estimated), admitted), admitted);
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
  const { outputTokens, choices } = admitted.quote;
  const inputTokens = inputWith(admitted.quote, callsOf(admitted));
  const usage = { ...NO_USAGE, inputTokens, outputTokens: outputTokens * choices };
  return withinHold(withHeldFees(priced(usage, admitted, FLAGS.estimated), admitted), admitted);
}

/** With what the provider charges for its own tools, as far as its answer tells. */
function withFees(metered: Metered, { admitted, relay }: Metering): Metered {
  const { tools, card } = admitted.quote;
  if (!tools || (card && isFree(card))) return metered;
  const fees = tools.feesOf(relay.usage);
  const isEstimate = tools.isEstimate || fees === undefined;
  const flags = (isEstimate ? FLAGS.estimated : 0) | (tools.unknown ? FLAGS.unpriced : 0);
  const costNanoUsd = metered.costNanoUsd + (fees ?? feesWith(admitted.quote, callsOf(admitted)));
  return { ...metered, costNanoUsd, flags: metered.flags | flags };
}

/** With all fees that were held for, where nothing tells how many calls there were. */
function withHeldFees(metered: Metered, admitted: Admitted): Metered {
  const fees = feesWith(admitted.quote, callsOf(admitted));
  return fees === 0 ? metered : { ...metered, costNanoUsd: metered.costNanoUsd + fees };
}

function callsOf({ calls, quote }: Admitted): number | undefined {
  return calls ?? quote.tools?.calls;
}

function withinHold(metered: Metered, { remaining, heldNanoUsd }: Admitted): Metered {
  if (remaining === null) return metered;
  return { ...metered, costNanoUsd: Math.min(metered.costNanoUsd, heldNanoUsd) };
}

function priced(usage: TokenUsage, { quote }: Admitted, flags: number): Metered {
  const used = usage.inputTokens > 0 || usage.outputTokens > 0;
  if (!used) return { usage, costNanoUsd: 0, flags };
  if (quote.card) return { usage, costNanoUsd: costOf(usage, quote.card), flags };
  return { usage, costNanoUsd: 0, flags: flags | FLAGS.unpriced };
}

/**
 * The input as counted, and of the output what was received plus, for an answer that was cut, what may have been
 * generated unseen: reasoning before the first byte and what was under way after the last, at the fastest rate that
 * a provider is taken to have. Never more than was asked for.
 */
async function estimate(gateway: Gateway, metering: Metering): Promise<TokenUsage> {
  const { job, target, admitted, relay } = metering;
  // Before anything is awaited: the time that counting takes is not time that the provider had.
  const unseen = unseenTokens(gateway, metering);
  const encoding = encodingOf(target.model);
  const bound = (texts: string[]) => texts.reduce((sum, text) => sum + tokenBound(text), 0);
  // A hold has to be settled even if the counting breaks down.
  const count = async (texts: string[]) =>
    encoding ? gateway.tokens.count(texts, encoding).catch(() => bound(texts)) : bound(texts);
  const prompt = job.wire.promptOf(job.asked);
  const [input, visible] = await Promise.all([count(prompt.texts), count(relay.receivedText())]);
  const most = admitted.quote.outputTokens * admitted.quote.choices;
  const outputTokens = Math.min(visible + unseen, Math.max(most, visible));
  const pointedAt = unseenBound(prompt.unseen, target);
  const inputTokens = input + prompt.tokens + 4 * prompt.items + 3 + pointedAt;
  const first = Math.min(admitted.quote.inputTokens, inputTokens);
  // The rounds that the provider's tools made possible are as unseen as what it wrote in them.
  const rounds = inputWith(admitted.quote, callsOf(admitted)) - admitted.quote.inputTokens;
  return { ...NO_USAGE, inputTokens: first + rounds, outputTokens };
}

function unseenTokens(gateway: Gateway, { relay, sentAt, whole }: Metering): number {
  // What came can't be told, so it may be all that was asked for.
  if (whole) return relay.isReadable ? 0 : Number.MAX_SAFE_INTEGER;
  const now = gateway.clock.monotonic();
  const before = (relay.isStream ? (relay.firstByteAt ?? now) : now) - sentAt;
  const after = relay.isStream && relay.lastByteAt !== undefined ? now - relay.lastByteAt : 0;
  return Math.ceil(((before + after) * gateway.settings()['metering.max_tokens_per_second']) / 1000);
}
