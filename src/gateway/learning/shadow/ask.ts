import { formatRequestId, type RequestId } from '../../../ids.ts';
import type { NanoUsd } from '../../../money.ts';
import type { Tier } from '../../../routing/tier.ts';
import { FLAGS, type Outcome } from '../../../store/ledger/record.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import { type Signs, signsOf } from '../../../wire/answer/summary.ts';
import { hold } from '../../admission/admit.ts';
import type { Sending } from '../../admission/admitted.ts';
import { inputBound } from '../../admission/input-tokens.ts';
import { quoter } from '../../admission/quote-request.ts';
import type { Gateway } from '../../context/gateway.ts';
import { type Job, lineOf } from '../../context/request-context.ts';
import { recordOf } from '../../context/request-record.ts';
import { meterCall } from '../../metering/meter.ts';
import type { Metered } from '../../metering/metered.ts';
import { NOTHING_USED } from '../../metering/metered.ts';
import type { RoutedTarget } from '../../state/resolve.ts';
import { outgoingOf } from '../../upstream/build-request.ts';
import { type CallEnd, type Outgoing, send } from '../../upstream/send.ts';
import { ShadowAnswer } from './answer.ts';
import { agree } from './compare.ts';
import { shadowJob } from './request.ts';

/** A question to put to the other tier as well. */
export interface ShadowQuestion {
  /** The request that was answered, in its client's words. */
  job: Job;
  /** What the client got. */
  served: Signs;
  outputTokens: number;
  target: RoutedTarget;
  tier: Tier;
  /** Whether a hold of so much more fits into what shadows may spend today; if so, no other takes that room. */
  takeRoom(more: NanoUsd): boolean;
  /** Whether what is spent and held is within it. */
  isWithin(): boolean;
  signal: AbortSignal;
}

/** How the other tier answered. */
export interface ShadowOutcome {
  signs: Signs;
  agrees: boolean | undefined;
}

/** What a short answer may take at the other model, which may think before it. */
const LEAST_OUTPUT_TOKENS = 2_048;
const TIMES_LONGER = 4;
const MAX_BYTES = 1_000_000;
/** From here on a budget's strong share falls, too. */
const MOST_OF_CAP = 0.8;

/**
 * Asks the other tier, on a hold of its own. Undefined where there is no room for it, or nothing to compare came of it;
 * throws GwError where the question can't be put there.
 */
export async function askShadow(
  gateway: Gateway,
  question: ShadowQuestion,
): Promise<ShadowOutcome | undefined> {
  const { target } = question;
  const mostTokens = Math.max(LEAST_OUTPUT_TOKENS, TIMES_LONGER * question.outputTokens);
  const job = shadowJob(gateway, question.job, target, mostTokens);
  if (!job || job.asked.serverTools) return undefined;
  const quoted = quoter(gateway, job, target)(inputBound(job, target));
  if (quoted.unpriced || !question.takeRoom(quoted.amount)) return undefined;
  if (await wouldCrowd(gateway, job, quoted.amount)) return undefined;
  const asking = { job, target, calendar: gateway.calendar() };
  // Not final: where a budget is tight it is not refused, which would be told to people, but left undone.
  const admitted = await hold(gateway, asking, quoted, false);
  if (!admitted) return undefined;
  const sentAt = gateway.clock.monotonic();
  // Another daemon may have held the rest at the same moment: each looks once its own hold is there to be seen.
  const call = question.isWithin()
    ? await callOnce(gateway, { job, target, admitted }, question.signal)
    : NOT_MADE;
  const { answer: relay, end } = call;
  const whole = end.kind === 'complete';
  const metered = relay
    ? await meterCall(gateway, { job, target, admitted, relay, sentAt, whole }, end)
    : NOTHING_USED;
  const outcome = outcomeOf(question, call);
  await settle(gateway, { job, question, call, metered, outcome });
  return outcome;
}

/** Whether it would take of what each budget keeps for what people ask. */
async function wouldCrowd({ ledger }: Gateway, { project }: Job, amount: NanoUsd): Promise<boolean> {
  const standings = await ledger.standings(project.id);
  return standings.some(
    ({ budget, posted, pending }) => posted + pending + amount > MOST_OF_CAP * budget.capNanoUsd,
  );
}

interface EndedCall {
  answer: ShadowAnswer | undefined;
  end: CallEnd;
}

const NOT_MADE: EndedCall = { answer: undefined, end: { kind: 'aborted', sent: false } };

async function callOnce(gateway: Gateway, sending: Sending, signal: AbortSignal): Promise<EndedCall> {
  if (signal.aborted) return NOT_MADE;
  const { job, target } = sending;
  const answer = new ShadowAnswer(job.wire, { maxBytes: MAX_BYTES, now: () => gateway.clock.monotonic() });
  const upstream = gateway.upstreams.of(target.provider.origin);
  const call = send(upstream, withoutKey(outgoingOf(gateway, sending)), answer);
  answer.onTooLong = call.abort;
  signal.addEventListener('abort', call.abort, { once: true });
  const end = await call.end;
  signal.removeEventListener('abort', call.abort);
  if (end.kind === 'complete') answer.readUsage();
  return { answer, end };
}

/** A provider that knows the first request's key again would answer with what it answered then. */
function withoutKey({ path, headers, body }: Outgoing): Outgoing {
  return { path, headers: headers.filter((_, i) => headers[i - (i % 2)] !== 'idempotency-key'), body };
}

function outcomeOf({ served }: ShadowQuestion, { answer, end }: EndedCall): ShadowOutcome | undefined {
  if (!answer || end.kind !== 'complete' || answer.status >= 300) return undefined;
  const read = parseObject(answer.body().toString('utf8'));
  if (!read || read.error) return undefined;
  try {
    const signs = signsOf(read);
    return { signs, agrees: agree(served, signs) };
  } catch {
    // Such as what is nested deeper than can be compared: the hold has to be settled all the same.
    return undefined;
  }
}

interface Ended {
  job: Job;
  question: ShadowQuestion;
  call: EndedCall;
  metered: Metered;
  outcome: ShadowOutcome | undefined;
}

async function settle(gateway: Gateway, { job, question, call, metered, outcome }: Ended): Promise<void> {
  const { target, tier } = question;
  const of: RequestId = question.job.exchange.id;
  const shadow = { of: formatRequestId(of), tier, agrees: outcome?.agrees ?? null };
  const record = recordOf(
    job,
    target,
    {
      ...endOf(call),
      usage: metered.usage,
      costNanoUsd: metered.costNanoUsd,
      flags: metered.flags | FLAGS.shadow,
      detail: { shadow },
    },
    gateway.clock.monotonic(),
  );
  await gateway.settler.settle(record);
  gateway.queue.nudge(lineOf(job, gateway.repoBudgets()));
}

function endOf({ answer, end }: EndedCall): { status: number; outcome: Outcome } {
  const status = answer?.status ?? 0;
  if (end.kind === 'complete') return { status, outcome: status >= 400 ? 'upstream_error' : 'ok' };
  return { status, outcome: end.kind === 'aborted' ? 'client_gone' : 'upstream_failed' };
}
