import { amountOf, type NanoUsd } from '../../money.ts';
import { costOf } from '../../pricing/cost.ts';
import { nanoFromPico } from '../../pricing/pico.ts';
import { cardAt, cardFor, type PriceCard, raiseHolds, scaleCard } from '../../pricing/price-card.ts';
import { rateAt } from '../../pricing/rate.ts';
import { regionalCard } from '../../pricing/service-factors.ts';
import { toolFee } from '../../pricing/tool-fees.ts';
import { addUsage, readReport, readToolCalls, usageRules } from '../../pricing/usage-payload.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import type { TokenUsage } from '../../usage.ts';
import { isSameModel } from '../../wire/answer/served-model.ts';
import { billedFactor } from '../../wire/request/surcharges.ts';
import type { Gateway } from '../context/gateway.ts';
import { clampCost } from '../metering/metered.ts';
import type { Target } from '../state/resolver.ts';
import type { BatchBound, BatchGroup } from './batch-bound.ts';

export type BatchPriceParts = Pick<Gateway, 'boundTrust' | 'catalog' | 'clock' | 'settings'>;

/** The most that a batch can cost, or why that is not known. */
export function costOfBound(
  gateway: BatchPriceParts,
  provider: Target['provider'],
  { groups, unbounded }: BatchBound,
): { amount: NanoUsd } | { unbounded: string } {
  if (unbounded !== undefined) return { unbounded };
  let amount = 0;
  for (const group of groups) {
    const target = { provider, model: group.model };
    const card = batchCard(gateway, target);
    if (!card) return { unbounded: `the price of ${provider.name}/${group.model} is unknown` };
    if (!gateway.boundTrust.isTrusted(target, 'output'))
      return { unbounded: `${group.model} has written more than its limits (gw doctor)` };
    amount += worstOf(group, heldCard(gateway, target, group, card));
  }
  return { amount };
}

function heldCard(
  { boundTrust }: Pick<Gateway, 'boundTrust'>,
  target: Target,
  { profile, factor }: BatchGroup,
  card: PriceCard,
): PriceCard {
  const tenths = boundTrust.priceTenths(target);
  const held = tenths === undefined ? cardFor(card, profile) : raiseHolds(card, tenths / 10);
  return factor === 1 ? held : scaleCard(held, factor);
}

/** Each request at the price of the longest. */
function worstOf(group: BatchGroup, { dearest }: PriceCard): NanoUsd {
  const { requests, inputTokens, outputTokens, longest } = group;
  return nanoFromPico(
    dearest.perRequestPicoUsd * BigInt(requests) +
      BigInt(inputTokens) * rateAt(dearest.input, longest) +
      BigInt(outputTokens) * rateAt(dearest.output, longest),
  );
}

/** The prices of a batch. */
function batchCard({ catalog, clock }: BatchPriceParts, target: Target): PriceCard | undefined {
  const { provider, model } = target;
  const listed = regionalCard(catalog().find(provider.name, model, clock.now()), provider, model);
  const factor = catalog().batchFactor(provider.name);
  return listed && factor !== 1 ? scaleCard(listed, factor) : listed;
}

/** What a batch has used and costs. */
export interface BatchBill {
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  flags: number;
}

/**
 * The bill of a batch by the sum of its usage. Undefined where the sum doesn't tell: nothing is reported, the price is
 * unknown, or longer requests cost more a token and some may have been long.
 */
export function billOfSum(
  gateway: BatchPriceParts,
  target: Target,
  reported: unknown,
  longest: number,
): BatchBill | undefined {
  const usage = readReport(reported, usageRules(target.provider.name, target.model))?.usage;
  const card = batchCard(gateway, target);
  if (!usage || !card || usage.inputTokens + usage.outputTokens === 0) return undefined;
  const costNanoUsd = costOf(usage, cardAt(card, 0));
  return costNanoUsd === costOf(usage, cardAt(card, longest)) ? { usage, costNanoUsd, flags: 0 } : undefined;
}

/** The bill of one answer in a batch's results; undefined if it reports no usage. */
export function billOfAnswer(
  gateway: BatchPriceParts,
  asked: Target,
  answer: Record<string, unknown>,
): BatchBill | undefined {
  const { provider } = asked;
  const { model: named, usage: reported, object } = answer;
  const model = typeof named === 'string' && !isSameModel(asked.model, named) ? named : asked.model;
  const rules = usageRules(provider.name, model, object === 'list' ? 'embeddings' : undefined);
  const usage = readReport(reported, rules)?.usage;
  if (!usage) return undefined;
  const card = batchCard(gateway, { provider, model }) ?? batchCard(gateway, asked);
  if (!card) return { usage, costNanoUsd: 0, flags: FLAGS.unpriced };
  const { factor } = billedFactor(undefined, reported, provider, model);
  const cost = costOf(usage, factor === 1 ? card : scaleCard(card, factor));
  return { usage, costNanoUsd: cost + feesOf(gateway, provider.name, reported), flags: 0 };
}

/** The provider's tools have no discount. */
function feesOf({ settings }: BatchPriceParts, provider: string, usage: unknown): NanoUsd {
  const fees = Object.entries(readToolCalls(usage)).map(
    ([name, calls]) => (toolFee(provider, name, settings().fees)?.nanoUsd ?? 0) * calls,
  );
  return fees.reduce((sum, fee) => sum + fee, 0);
}

/** The sum of two bills. */
export function addBills(a: BatchBill, b: BatchBill): BatchBill {
  const { value, wasCut } = clampCost(amountOf(a.costNanoUsd + b.costNanoUsd));
  return {
    usage: addUsage(a.usage, b.usage),
    costNanoUsd: value,
    flags: a.flags | b.flags | (wasCut ? FLAGS.estimated : 0),
  };
}
