import { GwError, messageOf } from '../errors.ts';
import { FLAGS } from '../store/ledger/record.ts';

import { encodingOf } from '../tokens/encoding.ts';
import { NO_USAGE, type TokenUsage } from '../usage.ts';
import { deliver, endingOf } from './call-end.ts';
import type { Forwarding } from './complete.ts';
import { crossAfter } from './cross.ts';
import type { Gateway } from './gateway.ts';
import { type ServiceHeaders, serviceHeaders } from './headers.ts';
import { type Job, lineOf, recordOf } from './job.ts';
import { type Metered, meter, meterAtBound } from './meter.ts';
import { guardOutput, UNKNOWN_TOKENIZER_SLACK } from './output-guard.ts';
import { costsNothing } from './quote.ts';
import { Relay } from './relay.ts';
import { savedMoney } from './saved-money.ts';
import { type CallEnd, notSent, type Outgoing, send } from './send.ts';

/**
 * Sends the request, brings the answer to the client and settles what it cost. The answer ends only when its record
 * is committed: who has read the end finds the usage on disk. Returns the job to send in its stead, on the same hold,
 * where the provider turns out to have no such endpoint.
 */
export async function relayAnswer(
  gateway: Gateway,
  forwarding: Forwarding,
  outgoing: Outgoing,
): Promise<Job | undefined> {
  const { job, target } = forwarding;
  const about = aboutOf(forwarding);
  const relay = new Relay({
    exchange: job.exchange,
    wire: job.wire,
    translator: job.translator,
    hideUsage: job.asked.stream && !job.asked.wantsUsage,
    ownHeaders: () => serviceHeaders(about),
    clientIdleMs: gateway.settings()['limits.client_idle_ms'],
    now: () => gateway.clock.monotonic(),
  });
  const sentAt = gateway.clock.monotonic();
  const end = await callProvider(gateway, forwarding, outgoing, relay);
  const crossed = end.kind === 'complete' ? tellOrCross(gateway, forwarding, relay) : undefined;
  if (crossed) return crossed;
  const usage = await settle(gateway, forwarding, { relay, sentAt, end }, about);
  deliver(relay, end, target.provider.name, usage);
  return undefined;
}

/** Prepares what the client will be told; the job to send instead where the provider has no such endpoint. */
function tellOrCross(gateway: Gateway, forwarding: Forwarding, relay: Relay): Job | undefined {
  try {
    const crossed = crossAfter(relay, forwarding, gateway);
    if (!crossed) relay.prepare();
    return crossed;
  } catch (error) {
    // The hold has to be settled, whatever is wrong with the answer.
    relay.refusal = error instanceof GwError ? error : untranslatable(error);
    return undefined;
  }
}

function untranslatable(cause: unknown): GwError {
  return new GwError(`the provider's answer cannot be translated (${messageOf(cause)})`, {
    status: 502,
    type: 'api_error',
    code: 'upstream_failed',
    cause,
  });
}

/** What the answer's headers say; cost and what is left of the budget are completed as they come to be known. */
function aboutOf({ job, target, admitted, why }: Forwarding): ServiceHeaders {
  return {
    id: job.exchange.id,
    model: target.model,
    provider: target.provider.name,
    route: why,
    savedTokens: job.savedTokens,
    costNanoUsd: undefined,
    remainingNanoUsd: admitted.remaining,
  };
}

/** Runs the call to its end: the provider's, the client's who leaves, or that of the hold. */
async function callProvider(
  gateway: Gateway,
  forwarding: Forwarding,
  outgoing: Outgoing,
  relay: Relay,
): Promise<CallEnd> {
  const { job, target, admitted } = forwarding;
  const { exchange, asked } = job;
  const call = exchange.gone
    ? notSent()
    : send(gateway.upstreams.of(target.provider.origin), outgoing, relay);
  let capped = false;
  if (asked.stream && admitted.remaining !== null && !costsNothing(admitted.quote)) {
    const limit = (admitted.limit ?? admitted.quote.outputTokens) * admitted.quote.choices;
    const encoding = encodingOf(target.model);
    guardOutput(relay, {
      maxTokens: limit * (encoding ? 1 : UNKNOWN_TOKENIZER_SLACK),
      count: (texts) => gateway.tokens.count(texts, encoding ?? 'o200k_base'),
      onReached() {
        capped = true;
        call.abort();
      },
    });
  }
  exchange.onGone = call.abort;
  relay.onLate = call.abort;
  const end = await (asked.stream ? endOfStream(call.end, relay) : call.end);
  exchange.onGone = undefined;
  return capped && end.kind === 'aborted' ? { kind: 'capped' } : end;
}

/** A stream has ended for gw with its closing event, whether or not the provider ends the connection then. */
function endOfStream(call: Promise<CallEnd>, relay: Relay): Promise<CallEnd> {
  return new Promise((resolve) => {
    relay.onClosed = resolve;
    void call.then(resolve);
  });
}

interface CallReport {
  relay: Relay;
  sentAt: number;
  end: CallEnd;
}

/** Turns the hold into what the call cost, and tells those who wait for room. Returns the usage that is booked. */
async function settle(
  gateway: Gateway,
  forwarding: Forwarding,
  report: CallReport,
  about: ServiceHeaders,
): Promise<TokenUsage> {
  const { job, target, admitted } = forwarding;
  const { relay, end } = report;
  const metering = meterEnd(gateway, forwarding, report);
  const metered = metering instanceof Promise ? await metering : metering;
  const ending = endingOf(relay, end);
  const record = recordOf(
    job,
    target,
    {
      status: ending.status,
      outcome: ending.outcome,
      detail: ending.detail,
      usage: metered.usage,
      costNanoUsd: metered.costNanoUsd,
      flags: metered.flags,
      savedNanoUsd: savedMoney(job.optimized?.savings ?? [], metered.usage, admitted.quote.card),
      firstByteMs: relay.firstByteAt === undefined ? null : relay.firstByteAt - job.exchange.startedAt,
    },
    gateway.clock.monotonic(),
  );
  job.exchange.recorded = true;
  const settled = await gateway.settler.settle(record);
  gateway.queue.nudge(lineOf(job, gateway.repoBudgets()));
  about.costNanoUsd = metered.flags & FLAGS.unpriced ? undefined : metered.costNanoUsd;
  about.remainingNanoUsd = settled.kind === 'settled' ? settled.remaining : null;
  return metered.usage;
}

function meterEnd(
  gateway: Gateway,
  forwarding: Forwarding,
  { relay, sentAt, end }: CallReport,
): Metered | Promise<Metered> {
  const { job, target, admitted } = forwarding;
  if ('sent' in end && !end.sent) return { usage: NO_USAGE, costNanoUsd: 0, flags: 0 };
  try {
    if (end.kind === 'complete') relay.readEnd();
    // A provider that reports an error within its stream has broken off, with all that it kept to itself.
    const whole = end.kind === 'complete' && relay.streamError === undefined;
    return meter(gateway, { job, target, admitted, relay, sentAt, whole });
  } catch (error) {
    return meterAtBound(gateway, admitted, error);
  }
}
