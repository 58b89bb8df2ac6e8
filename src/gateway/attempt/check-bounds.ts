import type { NanoUsd } from '../../money.ts';
import { worstCase } from '../../pricing/cost.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import { billedFactor } from '../../wire/request/surcharges.ts';
import { callsOf, limitOf } from '../admission/admitted.ts';
import { feesWith, inputWith } from '../admission/quote.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Metered } from '../metering/metered.ts';
import type { Attempt, AttemptResult } from './attempt.ts';

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
  // What is passed through has no bounds.
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

/** What the answer cost in tenths of the listed prices, if that is more than the dearest price for its tokens. */
function exceededPrice(
  { context, target, admitted }: Attempt,
  reported: unknown,
  { usage, costNanoUsd, flags }: Metered,
): number | undefined {
  const { card, listed, priceFactor } = admitted.quote;
  if (!card || !listed || flags & FLAGS.unpriced) return undefined;
  const { inputTokens, outputTokens } = usage;
  const tokens = { inputTokens, outputTokens, choices: 1 };
  // A surcharge that an answer reports is known to the account's surcharges.
  const surcharge = Math.max(
    billedFactor(context.request.surcharges, reported, target.provider, target.model).factor,
    priceFactor,
  );
  const fees = feesWith(admitted.quote, callsOf(admitted)) + (FEES_NOT_HELD[target.provider.name] ?? 0);
  const cost = costNanoUsd - fees;
  if (cost <= ((worstCase(tokens, card) * surcharge) / priceFactor) * ROUNDING + ROUNDING_NANO_USD)
    return undefined;
  const dearest = worstCase(tokens, listed) * surcharge;
  return dearest === 0 ? MAX_TENTHS : Math.min(Math.max(Math.ceil((10 * cost) / dearest), 10), MAX_TENTHS);
}
