import type { Calendar } from '../../calendar.ts';
import type { Admission, AdmissionResult } from '../../store/ledger/admission.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf, type RequestContext } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import { MAX_SEARCH_MS } from '../intake/claim-repository.ts';
import { ClientGone } from '../intake/client-gone.ts';
import type { Target } from '../state/resolve.ts';
import type { Admitted } from './admitted.ts';
import { blockedStatus, budgetBusy, forCodex } from './errors.ts';
import type { FittingHold } from './fit.ts';
import { admittedAs, fittingHold } from './fit.ts';
import { exactInput, inputBound, isCountable } from './input-tokens.ts';
import type { Quote } from './quote.ts';
import { quoteRequest } from './quote-request.ts';
import type { Asking } from './refuse.ts';
import { exceeded, unpricedError } from './refuse.ts';

/**
 * Holds the worst-case cost in every budget of the project. The cheap bound of the input is tried first, the exact
 * count only where that has no room. Throws GwError 402 or 429 where there is none, and ClientGone.
 */
export async function admit(
  gateway: Gateway,
  context: RequestContext,
  target: Target,
  calendar: Calendar,
): Promise<Admitted> {
  const asking = { context, target, calendar };
  const quoteFor = quoteRequest(gateway, context, target);
  const cheap = fittingHold(gateway, quoteFor(inputBound(context, target)));
  const first = await reserve(gateway, asking, cheap, !isCountable(context, target));
  const admitted = outcomeOf(gateway, asking, cheap, first);
  if (admitted) return admitted;
  const exact = await exactInput(gateway, context, target, cheap.quote.inputTokens);
  const second = await hold(gateway, asking, quoteFor(exact), true);
  if (!second) throw new Error('a final admission was not decided');
  return second;
}

/** One admission with the ledger; undefined where the bound was too loose to decide. */
export async function hold(
  gateway: Gateway,
  asking: Asking,
  quoted: Quote,
  isFinal: boolean,
): Promise<Admitted | undefined> {
  const limited = fittingHold(gateway, quoted);
  return outcomeOf(gateway, asking, limited, await reserve(gateway, asking, limited, isFinal));
}

/** Asks the ledger, once it is known where the request comes from, if that matters. */
function reserve(
  gateway: Gateway,
  asking: Asking,
  limited: FittingHold,
  isFinal: boolean,
): Promise<AdmissionResult> {
  const { origin, project, exchange } = asking.context;
  const reserveNow = () =>
    gateway.queue.admit(admissionOf(gateway, asking, limited, isFinal), {
      maxWaitMs: gateway.settings()['admission.max_wait_ms'],
      wanted: () => !exchange.gone,
    });
  const matters = origin.search && gateway.repoBudgets().has(project.id);
  return matters ? gateway.attribution.searched(origin, MAX_SEARCH_MS).then(reserveNow) : reserveNow();
}

function admissionOf(
  gateway: Gateway,
  { context, target }: Asking,
  { quote: quoted, fitInto }: FittingHold,
  isFinal: boolean,
): Admission {
  const { exchange, request } = context;
  return {
    id: exchange.id,
    projectId: context.project.id,
    queueKey: queueKeyOf(context, gateway.repoBudgets()),
    origin: context.origin,
    keyId: context.caller.keyId,
    endpoint: context.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: request.model,
    stream: request.stream,
    amount: quoted.amount,
    least: quoted.least,
    unpriced: quoted.unpriced,
    isFinal,
    fitInto,
    blockedRecord() {
      const ending = { status: blockedStatus(exchange.request.headers), outcome: 'blocked' } as const;
      return recordOf(context, target, ending, gateway.clock.monotonic());
    },
  };
}

function outcomeOf(
  gateway: Gateway,
  asking: Asking,
  limited: FittingHold,
  result: AdmissionResult,
): Admitted | undefined {
  const { context } = asking;
  switch (result.kind) {
    case 'held':
      if (context.tier) gateway.tiers.admitted(context.project.id, result.spentOfCap);
      return admittedAs(context, result, limited);
    case 'needs_exact_count':
      if (context.exchange.gone) throw new ClientGone();
      return undefined;
    case 'unpriced':
      throw forCodex(unpricedError(asking, limited.quote, result.standing), context.exchange.request.headers);
    case 'blocked':
      throw exceeded(asking, result.standing, limited.quote.least);
    case 'wait':
      if (context.exchange.gone) throw new ClientGone();
      throw budgetBusy(result.standing);
  }
}
