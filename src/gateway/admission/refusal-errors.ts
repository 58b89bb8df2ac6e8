import type { Calendar } from '../../calendar.ts';
import type { GwError } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import { type Standing, unspentOf } from '../../store/ledger/standing.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import {
  budgetBusy,
  budgetExceeded,
  costUnbounded,
  forCodex,
  priceUnknown,
  surchargeUnknown,
  toolUnpriced,
} from './errors.ts';
import { unseenIn } from './measure-prompt.ts';
import { leastNeed } from './need.ts';
import type { Quote } from './quote.ts';

/** A request to be admitted at a target. */
export interface AdmissionRequest {
  context: AnyRequestContext;
  target: Target;
  calendar: Calendar;
}

/** Why a budget has no room for a request's next attempt; `spent` is the cost of its attempts so far. */
export function noRoomError(
  admission: AdmissionRequest & { spent: NanoUsd },
  { standing, quote }: { standing: Standing; quote: Quote },
): GwError {
  const { context, spent } = admission;
  if (quote.unpriced)
    return forCodex(unpricedError(admission, quote, standing), context.exchange.request.headers);
  const needed = spent + quote.least;
  if (needed <= unspentOf(standing))
    return budgetBusy(standing, needed, leastNeed(quote, quote.least, context.request.maxOutputTokens));
  return exceededError(admission, standing, { quote, needed });
}

export function exceededError(
  { context, target, calendar }: AdmissionRequest,
  standing: Standing,
  { quote, needed }: { quote: Quote; needed: NanoUsd },
): GwError {
  const { headers } = context.exchange.request;
  const need = leastNeed(quote, quote.least, context.request.maxOutputTokens);
  const unseen = unseenText(context);
  const refusal = { standing, needed, need, unseen, model: target.model, calendar, headers };
  return forCodex(budgetExceeded(refusal), headers);
}

function unseenText({ wire, request, exchange }: AnyRequestContext): string | undefined {
  return wire.unreported ? undefined : unseenIn({ wire, request, exchange })?.what;
}

/** Why a budget can't hold a request that has no worst case. */
export function unpricedError(
  { context, target }: AdmissionRequest,
  quote: Quote,
  standing: Standing,
): GwError {
  const { wire, request } = context;
  if (wire.unreported) return costUnbounded(standing, wire.endpoint);
  if (request.surcharges?.unknown) return surchargeUnknown(standing, request.surcharges.unknown);
  if (quote.card && quote.tools?.unknown) return toolUnpriced(standing, quote.tools.unknown);
  return priceUnknown(standing, target.provider.name, quote.unpricedModel ?? target.model);
}
