import { GwError } from '../errors.ts';
import type { NanoUsd } from '../money.ts';
import { costOf } from '../pricing/cost.ts';
import type { PriceCard } from '../pricing/price-card.ts';
import { FLAGS, type Outcome } from '../store/ledger/record.ts';
import { encodingOf } from '../tokens/encoding.ts';
import { NO_USAGE } from '../usage.ts';
import type { Forwarding } from './complete.ts';
import type { Gateway } from './gateway.ts';
import { type ServiceHeaders, serviceHeaders } from './headers.ts';
import { recordOf } from './job.ts';
import { type Metered, meter, meterAtBound } from './meter.ts';
import { guardOutput } from './output-guard.ts';
import { costsNothing } from './quote.ts';
import { Relay } from './relay.ts';
import { type CallEnd, notSent, type Outgoing, send } from './send.ts';

/**
 * Sends the request, brings the answer to the client and settles what it cost. The answer ends only when its record
 * is committed: who has read the end finds the usage on disk.
 */
export async function relayAnswer(
  gateway: Gateway,
  forwarding: Forwarding,
  outgoing: Outgoing,
): Promise<void> {
  const { job, target, admitted } = forwarding;
  const { exchange, asked, wire } = job;
  const about: ServiceHeaders = {
    id: exchange.id,
    model: target.model,
    provider: target.provider.name,
    route: forwarding.why,
    savedTokens: job.savedTokens,
    costNanoUsd: undefined,
    remainingNanoUsd: admitted.remaining,
  };
  const relay = new Relay({
    exchange,
    wire,
    translator: job.translator,
    hideUsage: asked.stream && !asked.wantsUsage,
    ownHeaders: () => serviceHeaders(about),
    now: () => gateway.clock.monotonic(),
  });

  const sentAt = gateway.clock.monotonic();
  const call = exchange.gone
    ? notSent()
    : send(gateway.upstreams.of(target.provider.origin), outgoing, relay);
  let capped = false;
  if (asked.stream && admitted.remaining !== null && !costsNothing(admitted.quote)) {
    guardOutput(relay, {
      maxTokens: (admitted.limit ?? admitted.quote.outputTokens) * admitted.quote.choices,
      count: (texts) => gateway.tokens.count(texts, encodingOf(target.model) ?? 'o200k_base'),
      onReached() {
        capped = true;
        call.abort();
      },
    });
  }
  exchange.onGone = call.abort;
  const ended = await (asked.stream ? endOfStream(call.end, relay) : call.end);
  const end: CallEnd = capped && ended.kind === 'aborted' ? { kind: 'capped' } : ended;
  exchange.onGone = undefined;

  const metering = meterEnd(gateway, forwarding, { relay, sentAt, end });
  const metered = metering instanceof Promise ? await metering : metering;
  const ending = endingOf(relay, end);
  const settled = await gateway.settler.settle(
    recordOf(
      job,
      target,
      {
        status: ending.status,
        outcome: ending.outcome,
        detail: ending.detail,
        usage: metered.usage,
        costNanoUsd: metered.costNanoUsd,
        flags: metered.flags,
        savedNanoUsd: savedMoney(job.savedTokens, admitted.quote.card),
        firstByteMs: relay.firstByteAt === undefined ? null : relay.firstByteAt - exchange.startedAt,
      },
      gateway.clock.monotonic(),
    ),
  );
  gateway.queue.nudge(job.project.id);
  about.costNanoUsd = metered.flags & FLAGS.unpriced ? undefined : metered.costNanoUsd;
  about.remainingNanoUsd = settled.kind === 'settled' ? settled.remaining : null;
  deliver(relay, end, target.provider.name);
}

interface CallReport {
  relay: Relay;
  sentAt: number;
  end: CallEnd;
}

/** A stream has ended for gw with its closing event, whether or not the provider ends the connection then. */
function endOfStream(call: Promise<CallEnd>, relay: Relay): Promise<CallEnd> {
  return new Promise((resolve) => {
    relay.onClosed = resolve;
    void call.then(resolve);
  });
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
    return meter(gateway, { job, target, admitted, relay, sentAt, whole: end.kind === 'complete' });
  } catch (error) {
    return meterAtBound(gateway, admitted, error);
  }
}

function endingOf(
  relay: Relay,
  end: CallEnd,
): { status: number; outcome: Outcome; detail: Record<string, unknown> | undefined } {
  if (end.kind === 'capped') return { status: relay.status, outcome: 'capped', detail: undefined };
  if (end.kind === 'aborted')
    return { status: relay.status || 499, outcome: 'client_gone', detail: undefined };
  if (end.kind === 'failed') {
    const failure = describe(end);
    const status = relay.started ? relay.status : failure.status;
    return {
      status,
      outcome: 'upstream_failed',
      detail: { error: failure.code, cause: end.error.code ?? end.error.message },
    };
  }
  if (relay.streamError !== undefined) {
    return { status: relay.status, outcome: 'upstream_error', detail: { error: relay.streamError } };
  }
  return { status: relay.status, outcome: relay.status >= 400 ? 'upstream_error' : 'ok', detail: undefined };
}

/** What the tokens that were not sent would have cost as plain input. */
function savedMoney(tokens: number, card: PriceCard | undefined): NanoUsd {
  return tokens > 0 && card ? costOf({ ...NO_USAGE, inputTokens: tokens }, card) : 0;
}

/** The client's side of the end. */
function deliver(relay: Relay, end: CallEnd, provider: string): void {
  if (end.kind === 'complete') relay.finish();
  else if (end.kind === 'capped') relay.finishAtLimit();
  else if (end.kind === 'aborted') return;
  else if (relay.started) relay.cut();
  else {
    const { status, code, message } = describe(end);
    throw new GwError(`${provider} ${message}. See: gw providers test ${provider}`, {
      status,
      type: 'api_error',
      code,
      cause: end.error,
    });
  }
}

function describe({ error, sent }: Extract<CallEnd, { kind: 'failed' }>): {
  status: number;
  code: string;
  message: string;
} {
  const reason = error.code ?? error.message;
  if (/TIMEOUT/.test(reason) || reason === 'ETIMEDOUT') {
    const message = sent ? 'did not answer in time' : 'could not be reached in time';
    return { status: 504, code: 'upstream_timeout', message: `${message} (${reason})` };
  }
  if (!sent)
    return { status: 502, code: 'upstream_unreachable', message: `could not be reached (${reason})` };
  return {
    status: 502,
    code: 'upstream_failed',
    message: `broke off before its answer was whole (${reason})`,
  };
}
