import { formatUsd, type NanoUsd } from '../../money.ts';
import { FLAGS, type RequestRecord } from '../../store/ledger/record.ts';
import type { TokenUsage } from '../../usage.ts';
import type { ServiceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import type { TierChoice } from '../context/tier-choice.ts';
import type { Metered } from '../metering/metered.ts';
import { savedByTier, savedMoney } from '../metering/savings.ts';
import { tierDetail } from '../routing/describe-tier.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { recordedOutcome } from './ending.ts';
import { entryOf, outcomeWord, summed } from './history.ts';
import { meterReport } from './meter-report.ts';

export interface Settlement {
  usage: TokenUsage;
  outcome: RequestRecord['outcome'];
}

/**
 * Turns the hold into what the request cost, all its attempts together, and tells those who wait for room. Returns the
 * last attempt's usage, as it is booked, and the outcome on record.
 */
export async function settle(
  gateway: Gateway,
  attempt: Attempt,
  report: AttemptResult,
  about: ServiceHeaders,
): Promise<Settlement> {
  const { context } = attempt;
  const metering = report.metered ?? meterReport(gateway, attempt, report);
  const last = metering instanceof Promise ? await metering : metering;
  const savedByTierNanoUsd = context.tier && savedByTier(gateway, context.tier, last);
  if (savedByTierNanoUsd !== undefined && savedByTierNanoUsd > 0)
    about.route += `; saved=${formatUsd(savedByTierNanoUsd)}`;
  const record = recordFor(gateway, attempt, report, { last, savedByTierNanoUsd });
  context.exchange.recorded = true;
  const settled = await gateway.settleRetry.settle(record);
  gateway.queue.wake(queueKeyOf(context, gateway.repoBudgets()));
  about.costNanoUsd = record.flags & FLAGS.unpriced ? undefined : record.costNanoUsd;
  about.remainingNanoUsd = settled.kind === 'settled' ? settled.remaining : null;
  return { usage: last.usage, outcome: record.outcome };
}

/** Apart from `settle`: what an async function names, it keeps while it waits. */
function recordFor(
  gateway: Gateway,
  attempt: Attempt,
  report: AttemptResult,
  { last, savedByTierNanoUsd }: { last: Metered; savedByTierNanoUsd: NanoUsd | undefined },
): RequestRecord {
  const { context, target, admitted, route } = attempt;
  const { firstByteAt } = report.relay;
  const before = route?.history;
  const { usage, costNanoUsd, flags } = before ? summed(before, last) : last;
  const ending = recordedOutcome(report);
  const detail = before ? historyDetail(gateway, attempt, report, last, ending.detail) : ending.detail;
  return recordOf(
    context,
    target,
    {
      status: ending.status,
      outcome: ending.outcome,
      detail: context.tier ? tierOf(context.tier, savedByTierNanoUsd, detail) : detail,
      usage,
      costNanoUsd,
      flags,
      savedNanoUsd: savedMoney(context.optimized?.savings ?? [], last.usage, admitted.quote.card),
      firstByteMs: firstByteAt === undefined ? null : firstByteAt - context.exchange.startedAt,
    },
    gateway.clock.monotonic(),
  );
}

function tierOf(
  tier: TierChoice,
  savedNanoUsd: number | undefined,
  detail: Record<string, unknown> | undefined,
): Record<string, unknown> {
  return { ...detail, tier: tierDetail(tier, savedNanoUsd) };
}

/** The record's detail where there was more than one attempt. */
function historyDetail(
  gateway: Gateway,
  { target, route }: Attempt,
  { relay, sentAt, failure }: AttemptResult,
  metered: Metered,
  detail: Record<string, unknown> | undefined,
): Record<string, unknown> {
  const durationMs = gateway.clock.monotonic() - sentAt;
  const last = entryOf(target, outcomeWord(failure, relay.status), { durationMs, metered });
  return { ...detail, attempts: [...(route?.history?.entries ?? []), last] };
}
