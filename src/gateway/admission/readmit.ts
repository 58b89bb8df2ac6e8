import type { NanoUsd } from '../../money.ts';
import type { Standing } from '../../store/ledger/standing.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf, type RequestContext } from '../context/request-context.ts';
import type { RoutedTarget, Target } from '../state/resolver.ts';
import type { Admitted } from './admitted.ts';
import { noRoomError } from './errors.ts';
import { fittingHold, toAdmitted } from './fitting-hold.ts';
import { countInput, type InputParts, inputBound, isCountable, leastInput } from './input-tokens.ts';
import { heldNeed } from './need.ts';
import type { Quote } from './quote.ts';
import { type QuoteParts, quoteRequest } from './quote-request.ts';

export type ReadmitParts = QuoteParts &
  Pick<Gateway, 'budgetScopes' | 'calendar' | 'ledger' | 'queue' | 'tokens'> &
  InputParts;

/** The next attempt of a request: at another target, or at the same one in another API. */
interface NextAttempt {
  context: RequestContext;
  target: Target;
  /** The cost of the attempts so far. */
  spent: NanoUsd;
  /** There is no other attempt to fall back on: without room the request is blocked. */
  isOnly?: boolean;
}

/** The next attempt of a request, at another target. */
export interface ReadmitOptions extends NextAttempt {
  target: RoutedTarget;
  /** The target of the first attempt. */
  first: RoutedTarget;
}

export type ReadmitResult = Admitted | 'no room' | 'resolved before';

/** A target that the user didn't name may raise the request's worst case to this multiple of the first target's. */
const MAX_COST_RATIO = 2;

/** Replaces a request's hold by that of its next attempt, if the budgets have room and the target isn't too dear. */
export async function readmit(gateway: ReadmitParts, attempt: ReadmitOptions): Promise<ReadmitResult> {
  if (isTooDear(gateway, attempt)) return 'no room';
  const next = await replaceHold(gateway, attempt);
  if (next === undefined) return 'resolved before';
  return 'standing' in next ? 'no room' : next;
}

/**
 * Replaces the hold of a request that is sent to its target again, translated to another API, where it may be longer.
 * Undefined if the request has no hold any more. Throws GwError 402 or 429 if there is no room.
 */
export async function readmitTranslated(
  gateway: ReadmitParts,
  attempt: NextAttempt,
): Promise<Admitted | undefined> {
  const next = await replaceHold(gateway, { ...attempt, isOnly: true });
  if (next === undefined || !('standing' in next)) return next;
  throw noRoomError({ ...attempt, calendar: gateway.calendar() }, next);
}

function isTooDear(gateway: ReadmitParts, { context, target, first, spent }: ReadmitOptions): boolean {
  if (target.named) return false;
  const next = quoteRequest(gateway, context, target)(inputBound(context, target));
  const before = quoteRequest(gateway, context, first)(next.inputTokens);
  if (next.unpriced || before.unpriced) return next.unpriced !== before.unpriced;
  return spent + next.amount > MAX_COST_RATIO * before.amount;
}

/** A budget that has no room for an attempt. */
interface NoRoom {
  standing: Standing;
  quote: Quote;
}

/** Tries the cheap bound first, then the exact count. Undefined if the request has no hold any more. */
async function replaceHold(
  gateway: ReadmitParts,
  attempt: NextAttempt,
): Promise<Admitted | NoRoom | undefined> {
  const { context, target } = attempt;
  const quoteFor = quoteRequest(gateway, context, target);
  const least = leastInput(gateway, context, target);
  const bound = quoteFor(least.tokens, least.by);
  const isFinal = bound.unpriced || !isCountable(context, target);
  const result = await tryReadmit(gateway, attempt, bound, isFinal);
  if (isFinal || !result || !('standing' in result)) return result;
  const counted = await countInput(gateway, context, target, bound);
  return tryReadmit(gateway, attempt, quoteFor(counted.tokens, counted.by), true);
}

async function tryReadmit(
  gateway: ReadmitParts,
  { context, target, spent, isOnly = false }: NextAttempt,
  quote: Quote,
  isFinal: boolean,
): Promise<Admitted | NoRoom | undefined> {
  const hold = fittingHold(gateway, quote);
  const result = await gateway.ledger.readmit({
    id: context.exchange.id,
    projectId: context.project.id,
    origin: context.origin,
    agent: context.session.agent || undefined,
    session: context.session.sessionId || undefined,
    labels: context.options.labels,
    keyId: context.caller.keyId,
    endpoint: context.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: context.request.model,
    stream: context.request.stream,
    amount: hold.amount,
    outputTokens: hold.outputTokens,
    calls: hold.calls,
    unpriced: quote.unpriced,
    spent,
    allowed: context.exchange.allowed,
    fitInto: hold.fitInto,
    needOf: (held) => heldNeed(context.request, quote, held),
    small: hold.small,
    ...(isOnly && isFinal ? { least: quote.least } : {}),
  });
  if (result.kind === 'resolved_before') return undefined;
  // A smaller hold frees room for queued requests.
  gateway.queue.wake(queueKeyOf(context, gateway.budgetScopes(), target));
  if (result.kind === 'refused') return { standing: result.standing, quote };
  const { amount, remaining } = result;
  return toAdmitted(context, quote, result.fit ?? hold, { amount: amount - spent, remaining });
}
