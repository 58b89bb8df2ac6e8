import type { NanoUsd } from '../../money.ts';
import type { Standing } from '../../store/ledger/standing.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf, type RequestContext } from '../context/request-context.ts';
import type { RoutedTarget, Target } from '../state/resolve.ts';
import type { Admitted } from './admitted.ts';
import { admittedAs, fittingHold } from './fit.ts';
import { exactInput, inputBound, isCountable } from './input-tokens.ts';
import type { Quote } from './quote.ts';
import { quoteRequest } from './quote-request.ts';
import { noRoomFor } from './refuse.ts';

/** A request that goes on, at another target or in other words. */
interface NextAttempt {
  context: RequestContext;
  target: Target;
  /** What its attempts so far cost. */
  spent: NanoUsd;
  /** There is no other way to go on: the request is blocked where it has no room. */
  isOnly?: boolean;
}

/** A request that goes on at another target. */
export interface Readmitting extends NextAttempt {
  target: RoutedTarget;
  /** The target of its first attempt. */
  first: RoutedTarget;
}

export type Readmitted = Admitted | 'no room' | 'resolved before';

/** A target that nobody named may make a request cost this many times what it would have cost at its first. */
const MOST_TIMES_DEARER = 2;

/** Exchanges the hold of a request for that of its next attempt, if a budget has room and it may cost as much. */
export async function readmit(gateway: Gateway, readmitting: Readmitting): Promise<Readmitted> {
  if (isTooDear(gateway, readmitting)) return 'no room';
  const next = await replaceHold(gateway, readmitting);
  if (next === undefined) return 'resolved before';
  return 'standing' in next ? 'no room' : next;
}

/**
 * The same for a request that goes to its target once more in the words of another wire, where it may be longer than
 * it was held for. Undefined if it has no hold any more. Throws GwError 402 or 429 where there is no room.
 */
export async function readmitTranslated(
  gateway: Gateway,
  attempt: NextAttempt,
): Promise<Admitted | undefined> {
  const next = await replaceHold(gateway, { ...attempt, isOnly: true });
  if (next === undefined || !('standing' in next)) return next;
  throw noRoomFor({ ...attempt, calendar: gateway.calendar() }, next);
}

function isTooDear(gateway: Gateway, { context, target, first, spent }: Readmitting): boolean {
  if (target.named) return false;
  const next = quoteRequest(gateway, context, target)(inputBound(context, target));
  const before = quoteRequest(gateway, context, first)(next.inputTokens);
  if (next.unpriced || before.unpriced) return next.unpriced !== before.unpriced;
  return spent + next.amount > MOST_TIMES_DEARER * before.amount;
}

/** A budget that has no room for an attempt. */
interface Full {
  standing: Standing;
  quote: Quote;
}

/** Undefined if there is no hold any more. */
async function replaceHold(gateway: Gateway, attempt: NextAttempt): Promise<Admitted | Full | undefined> {
  const { context, target } = attempt;
  const quoteFor = quoteRequest(gateway, context, target);
  const cheap = quoteFor(inputBound(context, target));
  const isFinal = cheap.unpriced || !isCountable(context, target);
  const first = await holdAgain(gateway, attempt, cheap, isFinal);
  if (isFinal || !first || !('standing' in first)) return first;
  const exact = await exactInput(gateway, context, target, cheap.inputTokens);
  return holdAgain(gateway, attempt, quoteFor(exact), true);
}

async function holdAgain(
  gateway: Gateway,
  { context, target, spent, isOnly = false }: NextAttempt,
  quoted: Quote,
  isFinal: boolean,
): Promise<Admitted | Full | undefined> {
  const limited = fittingHold(gateway, quoted);
  const result = await gateway.ledger.readmit({
    id: context.exchange.id,
    projectId: context.project.id,
    origin: context.origin,
    keyId: context.caller.keyId,
    endpoint: context.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: context.request.model,
    stream: context.request.stream,
    amount: quoted.amount,
    unpriced: quoted.unpriced,
    spent,
    fitInto: limited.fitInto,
    ...(isOnly && isFinal ? { least: quoted.least } : {}),
  });
  if (result.kind === 'resolved_before') return undefined;
  // Room may have been freed for those who wait.
  gateway.queue.wake(queueKeyOf(context, gateway.repoBudgets()));
  if (result.kind === 'refused') return { standing: result.standing, quote: quoted };
  const { amount, remaining } = result;
  return admittedAs(context, { amount: amount - spent, remaining }, limited);
}
