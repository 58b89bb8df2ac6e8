import type { Calendar } from '../../calendar.ts';
import type { GwError } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import type { Standing } from '../../store/ledger/standing.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';
import {
  budgetBusy,
  budgetExceeded,
  costUnbounded,
  forCodex,
  priceUnknown,
  surchargeUnknown,
  toolUnpriced,
} from './errors.ts';
import type { Quote } from './quote.ts';

/** Why a budget has no room for what a request goes on with, of which `spent` is for its attempts so far. */
export function noRoomFor(
  asking: Asking & { spent: NanoUsd },
  { standing, quote: quoted }: { standing: Standing; quote: Quote },
): GwError {
  const { context, spent } = asking;
  if (quoted.unpriced)
    return forCodex(unpricedError(asking, quoted, standing), context.exchange.request.headers);
  const needed = spent + quoted.least;
  if (needed <= standing.budget.capNanoUsd - standing.posted) return budgetBusy(standing);
  return exceeded(asking, standing, needed);
}

export function exceeded(
  { context, target, calendar }: Asking,
  standing: Standing,
  needed: NanoUsd,
): GwError {
  const { headers } = context.exchange.request;
  return forCodex(budgetExceeded({ standing, needed, model: target.model, calendar, headers }), headers);
}

/** What a budget can't hold, and why. */
export function unpricedError({ context, target }: Asking, quoted: Quote, standing: Standing): GwError {
  const { wire, request } = context;
  if (wire.unreported) return costUnbounded(standing, wire.endpoint);
  if (request.surcharges?.unknown) return surchargeUnknown(standing, request.surcharges.unknown);
  if (quoted.card && quoted.tools?.unknown) return toolUnpriced(standing, quoted.tools.unknown);
  return priceUnknown(standing, target.provider.name, target.model);
}

export interface Asking {
  context: AnyRequestContext;
  target: Target;
  calendar: Calendar;
}
