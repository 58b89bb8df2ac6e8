import { messageOf } from '../../errors.ts';
import { targetId } from '../../routing/candidate.ts';
import type { Failure } from '../../routing/failure.ts';
import { countTime, hedgeAfterMs, takeHedge } from '../../routing/hedge.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import { readmit } from '../admission/readmit.ts';
import type { Gateway } from '../context/gateway.ts';
import { lineOf } from '../context/request-context.ts';
import { nextOf, pin, type Route, targetAt } from '../routing/route.ts';
import { outgoingOf } from '../upstream/build-request.ts';
import type { Forwarding } from './attempt.ts';
import { remainingMs } from './deadline.ts';
import { crossed } from './fail-over.ts';
import { withFailed } from './history.ts';
import { Racer } from './racer.ts';
import { type Call, startCall } from './start.ts';

/** Whether a second target may be asked beside the first: for those who want it, where no tool would act twice. */
export function mayHedge(gateway: Gateway, { job, target, route }: Forwarding): boolean {
  if (gateway.settings()['routing.hedge'] === 'off') return false;
  if (!route || route.targets.length < 2 || route.attempts || job.asked.serverTools) return false;
  // One of which it is not known whether it has the endpoint may have to be asked once more in other words.
  return job.wire !== responsesWire || gateway.chatOnly.isKnownOtherwise(target.provider);
}

/**
 * Runs a call to its end. Where its first content is later than in 95 % of cases, another target is asked too: the
 * hold is then for the worst case of both, as both may be billed. Who has content first is the answer, and the other
 * is hung up on at once; what that one may have cost is booked with it. Who fails meanwhile counts as an attempt.
 */
export async function hedged(gateway: Gateway, call: Call, route: Route): Promise<Call> {
  const { clock, router } = gateway;
  const name = `${targetId(route.target.candidate)} ${call.forwarding.job.asked.stream ? 'stream' : 'whole'}`;
  const onContent = () => countTime(router.hedging, name, clock.monotonic() - call.report.sentAt);
  const first = new Racer(gateway, call, onContent);
  let starting: Promise<Racer | undefined> | undefined;
  const afterMs = hedgeAfterMs(router.hedging, name);
  const cancel =
    afterMs !== undefined &&
    clock.after(afterMs, () => {
      if (!first.isOver) starting = startSecond(gateway, first, onContent);
    });
  await first.ended;
  if (cancel) cancel();
  const second = await starting;
  if (!second) return call;
  await second.ended;
  return concluded(gateway, first, second);
}

async function startSecond(
  gateway: Gateway,
  first: Racer,
  onContent: () => void,
): Promise<Racer | undefined> {
  try {
    const forwarding = await admitSecond(gateway, first.call.forwarding);
    if (!forwarding || first.isOver || forwarding.job.exchange.gone) return undefined;
    const call = startCall(gateway, forwarding, outgoingOf(gateway, forwarding));
    const second = new Racer(gateway, call, onContent);
    first.against(second);
    return second;
  } catch (error) {
    // Such as a database that can't be written: the first call goes on all the same.
    gateway.warn(`a late request could not be made at a second target as well: ${messageOf(error)}`);
    return undefined;
  }
}

const LATE: Failure = { class: 'timeout', scope: 'target', next: 'elsewhere' };

/** A healthy target, with room for both in the budgets; a hedge is one of the retries that an outage may not multiply. */
async function admitSecond(
  gateway: Gateway,
  { job, route, admitted }: Forwarding,
): Promise<Forwarding | undefined> {
  // What room there is belongs to those who wait for it.
  if (gateway.queue.isWaiting(lineOf(job, gateway.repoBudgets()))) return undefined;
  if (!route || !takeHedge(gateway.router.hedging)) return undefined;
  const next = nextOf(gateway, route.job, {
    targets: route.targets,
    tried: [{ target: route.target.candidate, failure: LATE, lastResort: route.lastResort }],
    remainingMs: remainingMs(gateway, job),
  });
  if (next.kind !== 'attempt' || next.lastResort) return undefined;
  const target = targetAt(route.targets, next.target);
  const said = crossed(gateway, route, target);
  if (!said) return undefined;
  const { first, why } = route;
  const both = await readmit(gateway, {
    job: said,
    target,
    first,
    spent: admitted.heldNanoUsd,
    isExtra: true,
  });
  if (typeof both === 'string') return undefined;
  return { job: said, target, admitted: both, why, route: { ...route, target, lastResort: false } };
}

/** The call whose answer it is, or whose failure came last, with the other among its attempts. */
async function concluded(gateway: Gateway, first: Racer, second: Racer): Promise<Call> {
  const isSecond = first.isOutrun || (!second.isOutrun && second.isLast);
  const [{ call }, other] = isSecond ? [second, first] : [first, second];
  const { job, route } = call.forwarding;
  const { route: otherRoute } = other.call.forwarding;
  const { relay, failure = LATE } = other.call.report;
  const metered = await other.spent();
  if (!route || !otherRoute) return call;
  const { target, lastResort } = otherRoute;
  route.attempts = withFailed(undefined, [{ target: target.candidate, failure, lastResort }], {
    target,
    failure,
    outcome: other.isOutrun ? 'outrun' : undefined,
    status: relay.status,
    durationMs: other.durationMs,
    metered,
  });
  if (isSecond) pin(gateway, job, route.target.candidate);
  return call;
}
