import type { NanoUsd } from '../money.ts';
import { type Admitted, admittedAs, exactInput, inputBound, isCountable, limiting, quoter } from './admit.ts';
import type { Gateway } from './gateway.ts';
import { type Job, lineOf } from './job.ts';
import type { Quote } from './quote.ts';
import type { RoutedTarget } from './resolve.ts';

/** A request that goes on at another target. */
export interface Readmitting {
  job: Job;
  target: RoutedTarget;
  /** The target of its first attempt. */
  first: RoutedTarget;
  /** What its attempts so far cost. */
  spent: NanoUsd;
}

export type Readmitted = Admitted | 'no room' | 'resolved before';

/** A target that nobody named may make a request cost this many times what it would have cost at its first. */
const MOST_TIMES_DEARER = 2;

/** Exchanges the hold of a request for that of its next attempt, if a budget has room and it may cost as much. */
export async function readmit(gateway: Gateway, readmitting: Readmitting): Promise<Readmitted> {
  const { job, target } = readmitting;
  const quoteFor = quoter(gateway, job, target);
  const cheap = quoteFor(inputBound(job, target));
  if (isTooDear(gateway, readmitting, cheap)) return 'no room';
  const first = await holdAgain(gateway, readmitting, cheap);
  if (first !== 'no room' || cheap.unpriced || !isCountable(job, target)) return first;
  return holdAgain(gateway, readmitting, quoteFor(await exactInput(gateway, job, target, cheap.inputTokens)));
}

function isTooDear(gateway: Gateway, { job, target, first, spent }: Readmitting, next: Quote): boolean {
  if (target.named) return false;
  const before = quoter(gateway, job, first)(next.inputTokens);
  if (next.unpriced || before.unpriced) return next.unpriced !== before.unpriced;
  return spent + next.amount > MOST_TIMES_DEARER * before.amount;
}

async function holdAgain(
  gateway: Gateway,
  { job, target, spent }: Readmitting,
  quoted: Quote,
): Promise<Readmitted> {
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
  });
  if (result.kind === 'resolved_before') return 'resolved before';
  // Room may have been freed for those who wait.
  gateway.queue.nudge(lineOf(job, gateway.repoBudgets()));
  if (result.kind === 'refused') return 'no room';
  const { amount, remaining } = result;
  return admittedAs(job, { amount: amount - spent, remaining }, limited);
}
