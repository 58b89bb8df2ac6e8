import type { NanoUsd } from '../../money.ts';
import type { Standing } from '../../store/ledger/balances.ts';
import type { Gateway } from '../context/gateway.ts';
import { type Job, lineOf } from '../context/request-context.ts';
import type { RoutedTarget, Target } from '../state/resolve.ts';
import type { Admitted } from './admitted.ts';
import { admittedAs, limiting } from './fit.ts';
import { exactInput, inputBound, isCountable } from './input-tokens.ts';
import type { Quote } from './quote.ts';
import { quoter } from './quote-request.ts';
import { noRoomFor } from './refuse.ts';

/** A request that goes on, at another target or in other words. */
interface NextAttempt {
  job: Job;
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
  const next = await exchange(gateway, readmitting);
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
  const next = await exchange(gateway, { ...attempt, isOnly: true });
  if (next === undefined || !('standing' in next)) return next;
  throw noRoomFor({ ...attempt, calendar: gateway.calendar() }, next);
}

function isTooDear(gateway: Gateway, { job, target, first, spent }: Readmitting): boolean {
  if (target.named) return false;
  const next = quoter(gateway, job, target)(inputBound(job, target));
  const before = quoter(gateway, job, first)(next.inputTokens);
  if (next.unpriced || before.unpriced) return next.unpriced !== before.unpriced;
  return spent + next.amount > MOST_TIMES_DEARER * before.amount;
}

/** A budget that has no room for an attempt. */
interface Full {
  standing: Standing;
  quote: Quote;
}

/** Undefined if there is no hold any more. */
async function exchange(gateway: Gateway, attempt: NextAttempt): Promise<Admitted | Full | undefined> {
  const { job, target } = attempt;
  const quoteFor = quoter(gateway, job, target);
  const cheap = quoteFor(inputBound(job, target));
  const isFinal = cheap.unpriced || !isCountable(job, target);
  const first = await holdAgain(gateway, attempt, cheap, isFinal);
  if (isFinal || !first || !('standing' in first)) return first;
  const exact = await exactInput(gateway, job, target, cheap.inputTokens);
  return holdAgain(gateway, attempt, quoteFor(exact), true);
}

async function holdAgain(
  gateway: Gateway,
  { job, target, spent, isOnly = false }: NextAttempt,
  quoted: Quote,
  isFinal: boolean,
): Promise<Admitted | Full | undefined> {
  const limited = limiting(gateway, quoted);
  const result = await gateway.ledger.readmit({
    id: job.exchange.id,
    projectId: job.project.id,
    origin: job.origin,
    keyId: job.caller.keyId,
    endpoint: job.wire.endpoint,
    provider: target.provider.name,
    model: target.model,
    askedModel: job.asked.model,
    stream: job.asked.stream,
    amount: quoted.amount,
    unpriced: quoted.unpriced,
    spent,
    fit: limited.fit,
    ...(isOnly && isFinal ? { least: quoted.least } : {}),
  });
  if (result.kind === 'resolved_before') return undefined;
  // Room may have been freed for those who wait.
  gateway.queue.nudge(lineOf(job, gateway.repoBudgets()));
  if (result.kind === 'refused') return { standing: result.standing, quote: quoted };
  const { amount, remaining } = result;
  return admittedAs(job, { amount: amount - spent, remaining }, limited);
}
