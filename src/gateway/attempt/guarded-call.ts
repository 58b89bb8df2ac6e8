import { encodingOf } from '../../tokens/encoding.ts';
import { costsNothing } from '../admission/quote.ts';
import { guardOutput, UNKNOWN_TOKENIZER_SLACK } from '../answer/output-guard.ts';
import type { Relay } from '../answer/relay.ts';
import type { Gateway } from '../context/gateway.ts';
import { type CallEnd, notSent, send, TOO_LONG, type UpstreamRequest } from '../upstream/send.ts';
import type { Attempt } from './attempt.ts';
import { remainingMs } from './deadline.ts';

/** A call that runs to its end: the provider's, the client's who leaves, or that of the hold. */
export interface GuardedCall {
  end: Promise<CallEnd>;
  /** To be told the end, says what it means for the request. */
  close(end: CallEnd): CallEnd;
}

export function callProvider(
  gateway: Gateway,
  attempt: Attempt,
  outgoing: UpstreamRequest,
  relay: Relay,
): GuardedCall {
  const { context, target, admitted } = attempt;
  const { exchange, request } = context;
  const call = exchange.gone
    ? notSent()
    : send(gateway.upstreams.of(target.provider.origin), outgoing, relay);
  let capped = false;
  if (request.stream && admitted.remaining !== null && !costsNothing(admitted.quote)) {
    const { outputTokens, beyondLimit, choices } = admitted.quote;
    const limit = ((admitted.limit ?? outputTokens) + beyondLimit) * choices;
    const encoding = encodingOf(target.model);
    guardOutput(relay, {
      maxTokens: limit * (encoding ? 1 : UNKNOWN_TOKENIZER_SLACK),
      count: (texts) => gateway.tokens.countSoon(texts, encoding ?? 'o200k_base'),
      onReached() {
        capped = true;
        call.abort();
      },
    });
  }
  let late = false;
  const cancel = afterLimit(gateway, attempt, () => {
    if (relay.status !== 0) return;
    late = true;
    call.abort();
  });
  // No closures of this function: what refers to all of a request makes its garbage grow old (5 us a request).
  exchange.onGone = call.abort;
  relay.onLate = call.abort;
  return {
    end: request.stream || relay.holdsBack ? endOfStream(call.end, relay) : call.end,
    close(end) {
      cancel?.();
      exchange.onGone = undefined;
      if (end.kind !== 'aborted') return end;
      if (capped) return { kind: 'capped' };
      if (relay.isTooLong) return failed('an answer without end', TOO_LONG, { sent: true, answered: true });
      if (!late || exchange.gone) return end;
      return failed('no answer in time', 'UND_ERR_HEADERS_TIMEOUT', { sent: end.sent, answered: false });
    },
  };
}

/** A stream has ended for gw with its closing event, whether or not the provider ends the connection then. */
function endOfStream(call: Promise<CallEnd>, relay: Relay): Promise<CallEnd> {
  return new Promise((resolve) => {
    relay.onClosed = resolve;
    void call.then(resolve);
  });
}

/**
 * Limits the time to the first byte at one of several targets; undefined without a limit. Streams begin soon; whole
 * answers take as long as they take, but at a second target no longer than somebody may still wait.
 */
function afterLimit(
  gateway: Gateway,
  { context, route }: Attempt,
  onReached: () => void,
): (() => void) | undefined {
  if (!route || route.targets.length < 2) return undefined;
  const own = context.request.stream ? gateway.settings()['routing.first_byte_timeout_ms'] : undefined;
  const leftMs = route.history ? Math.max(0, remainingMs(gateway, context)) : undefined;
  if (own === undefined && leftMs === undefined) return undefined;
  return gateway.clock.after(Math.min(own ?? Infinity, leftMs ?? Infinity), onReached);
}

function failed(message: string, code: string, how: { sent: boolean; answered: boolean }): CallEnd {
  return { kind: 'failed', error: Object.assign(new Error(message), { code }), ...how };
}
