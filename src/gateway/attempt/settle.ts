import { formatUsd, type NanoUsd } from '../../money.ts';
import { FLAGS, type RequestRecord } from '../../store/ledger/record.ts';
import type { TokenUsage } from '../../usage.ts';
import type { ServiceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import { lineOf } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import type { TierChoice } from '../context/tier-choice.ts';
import type { Metered } from '../metering/metered.ts';
import { savedByTier, savedMoney } from '../metering/savings.ts';
import { tierDetail } from '../routing/describe-tier.ts';
import type { CallReport, Forwarding } from './attempt.ts';
import { endingOf } from './ending.ts';
import { entryOf, summed, wordFor } from './history.ts';
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
  forwarding: Forwarding,
  report: CallReport,
  about: ServiceHeaders,
): Promise<Settlement> {
  const { job } = forwarding;
  const metering = report.metered ?? meterReport(gateway, forwarding, report);
  const last = metering instanceof Promise ? await metering : metering;
  const savedByTierNanoUsd = job.tier && savedByTier(gateway, job.tier, last);
  if (savedByTierNanoUsd !== undefined && savedByTierNanoUsd > 0)
    about.route += `; saved=${formatUsd(savedByTierNanoUsd)}`;
  const record = recordFor(gateway, forwarding, report, { last, savedByTierNanoUsd });
  job.exchange.recorded = true;
  const settled = await gateway.settler.settle(record);
  gateway.queue.nudge(lineOf(job, gateway.repoBudgets()));
  about.costNanoUsd = record.flags & FLAGS.unpriced ? undefined : record.costNanoUsd;
  about.remainingNanoUsd = settled.kind === 'settled' ? settled.remaining : null;
  return { usage: last.usage, outcome: record.outcome };
}

/** Apart from `settle`: what an async function names, it keeps while it waits. */
function recordFor(
  gateway: Gateway,
  forwarding: Forwarding,
  report: CallReport,
  { last, savedByTierNanoUsd }: { last: Metered; savedByTierNanoUsd: NanoUsd | undefined },
): RequestRecord {
  const { job, target, admitted, route } = forwarding;
  const { firstByteAt } = report.relay;
  const before = route?.attempts;
  const { usage, costNanoUsd, flags } = before ? summed(before, last) : last;
  const ending = endingOf(report);
  const detail = before ? trailOf(gateway, forwarding, report, last, ending.detail) : ending.detail;
  return recordOf(
    job,
    target,
    {
      status: ending.status,
      outcome: ending.outcome,
      detail: job.tier ? tierOf(job.tier, savedByTierNanoUsd, detail) : detail,
      usage,
      costNanoUsd,
      flags,
      savedNanoUsd: savedMoney(job.optimized?.savings ?? [], last.usage, admitted.quote.card),
      firstByteMs: firstByteAt === undefined ? null : firstByteAt - job.exchange.startedAt,
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
function trailOf(
  gateway: Gateway,
  { target, route }: Forwarding,
  { relay, sentAt, failure }: CallReport,
  metered: Metered,
  detail: Record<string, unknown> | undefined,
): Record<string, unknown> {
  const durationMs = gateway.clock.monotonic() - sentAt;
  const last = entryOf(target, wordFor(failure, relay.status), { durationMs, metered });
  return { ...detail, attempts: [...(route?.attempts?.entries ?? []), last] };
}
