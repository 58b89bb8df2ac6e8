import { amountOf, type NanoUsd } from '../../money.ts';
import { costOf } from '../../pricing/cost.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import { NO_USAGE } from '../../usage.ts';
import { callsOf, limitOf } from '../admission/admitted.ts';
import { costsNothing, inputWith } from '../admission/quote.ts';
import { type RelayObserver, readAgain, type ToolResults } from '../answer/answer-receiver.ts';
import { createOutputGuard, UNKNOWN_TOKENIZER_SLACK } from '../answer/output-guard.ts';
import type { Relay } from '../answer/relay.ts';
import { clientLimitMs, type GoneListener } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { stopsWhenCut } from '../metering/estimate-usage.ts';
import type { CallProgress, CuttableCall } from '../state/access/running-calls.ts';
import {
  type CallEnd,
  notSent,
  send,
  TOO_LONG,
  type UpstreamCall,
  type UpstreamRequest,
} from '../upstream/send.ts';
import { type Attempt, hasAlternatives } from './attempt.ts';

/** Whether a stream is stopped when it outgrows its hold. */
export function isGuarded({ context, admitted }: Attempt): boolean {
  return context.request.stream && admitted.remaining !== null && !costsNothing(admitted.quote);
}

/** Of English text and of code; what is booked is counted at the end. */
const BYTES_PER_TOKEN = 4;

/** An estimate of what a stream has cost so far: never more than it holds. */
function usedSoFar(
  { request }: AnyRequestContext,
  { quote }: Attempt['admitted'],
  outputTokens: number,
): NanoUsd | null {
  if (!quote.card) return null;
  const inputTokens = Math.min(quote.inputTokens, Math.ceil(request.bytes.length / BYTES_PER_TOKEN));
  const cost = amountOf(costOf({ ...NO_USAGE, inputTokens, outputTokens }, quote.card));
  return Math.min(cost, quote.amount);
}

/** Time for usage to arrive after a stream's closing event. */
const LATE_USAGE_MS = 250;

export type CallParts = Pick<
  Gateway,
  'bodies' | 'clock' | 'runningCalls' | 'settings' | 'tokens' | 'upstreams'
>;

/**
 * A call of a provider. Aborts it when the client hangs up and that saves money, its project is cut, the output outgrows
 * its hold, the first byte is late, or nobody needs the rest of the answer.
 */
export class GuardedCall implements RelayObserver, GoneListener, CuttableCall {
  index = -1;
  /** How the call ended, for the request. */
  readonly end: Promise<CallEnd>;
  #resolveEnd: (end: CallEnd) => void = () => {};
  #relay: Relay | undefined;
  #call: UpstreamCall | undefined;
  #guard: ((streamedBytes: number) => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  /** Releases what an answer takes that is read without its client. */
  #release: (() => void) | undefined;
  #streamedBytes = 0;
  /** Bytes of text in a byte of the stream, by its size at the last measurement. */
  #textShare = 0;
  #measureAt = 1;
  #isOver = false;
  #isCapped = false;
  #isCut = false;
  #isTooLong = false;
  #isLate = false;
  readonly #gateway: CallParts;
  readonly #attempt: Attempt;
  readonly #onContent: () => void;

  /** `onContent` is called at the first content of a stream that was held back. */
  constructor(gateway: CallParts, attempt: Attempt, onContent: () => void) {
    this.#gateway = gateway;
    this.#attempt = attempt;
    this.#onContent = onContent;
    this.end = new Promise((resolve) => {
      this.#resolveEnd = resolve;
    });
  }

  /** Sends the request. The relay receives the answer. */
  start(relay: Relay, request: UpstreamRequest): void {
    const gateway = this.#gateway;
    const { context, target } = this.#attempt;
    const { exchange } = context;
    this.#relay = relay;
    if (isGuarded(this.#attempt)) this.#guard = this.#createGuard(relay);
    const limitMs = firstByteLimitMs(gateway, this.#attempt);
    if (limitMs !== undefined) {
      this.#cancelTimer = gateway.clock.after(limitMs, () => this.#giveUp(relay));
    }
    this.#isCut = gateway.runningCalls.isCut(context.project.id);
    const call =
      exchange.gone || this.#isCut ? notSent() : send(gateway.upstreams.of(target.provider), request, relay);
    this.#call = call;
    exchange.listener = this;
    gateway.runningCalls.add(context.project.id, this);
    void call.end.then((end) => this.#finish(end));
  }

  #createGuard(relay: Relay): (streamedBytes: number) => void {
    const { tokens } = this.#gateway;
    const { target, admitted } = this.#attempt;
    const { beyondLimit, choices } = admitted.quote;
    const limit = (limitOf(admitted) + beyondLimit) * choices;
    const encoding = encodingOf(target.model);
    return createOutputGuard({
      maxTokens: limit * (encoding ? 1 : UNKNOWN_TOKENIZER_SLACK),
      receivedText: () => relay.receivedText(),
      count: (texts) => tokens.countSoon(texts, encoding ?? 'o200k_base'),
      onReached: () => {
        this.#isCapped = true;
        this.#call?.abort();
      },
    });
  }

  #giveUp(relay: Relay): void {
    if (relay.status !== 0) return;
    this.#isLate = true;
    this.#call?.abort();
  }

  cut(): void {
    this.#isCut = true;
    this.#call?.abort();
  }

  /**
   * Under a budget, reads the answer on to its end where the provider may bill all of it in any case: only its end says
   * what it costs. Ends the call where that stops the bill, where there is none, and where no cap depends on it.
   */
  clientGone(): void {
    const { context, target, admitted } = this.#attempt;
    const { bodies, upstreams } = this.#gateway;
    const { cutting } = upstreams;
    const call = this.#call;
    const { quote, remaining } = admitted;
    const endsBill = quote.amount === 0 || stopsWhenCut({ context, target });
    if (!call?.sent || endsBill || remaining === null || cutting.aborted) {
      call?.abort();
      return;
    }
    // The limit is for trying another target, which nobody waits for.
    this.#cancelTimer?.();
    const cut = () => call.abort();
    cutting.addEventListener('abort', cut, { once: true });
    // The memory of the body is released when the client's connection closes.
    const releaseBody = bodies.keep(context.request.bytes.length);
    this.#release = () => {
      cutting.removeEventListener('abort', cut);
      releaseBody();
    };
    this.#relay?.abandon();
  }

  /** The first end counts: the call may still be aborted after the closing event. */
  #finish(end: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer?.();
    this.#release?.();
    const { exchange, project } = this.#attempt.context;
    exchange.listener = undefined;
    this.#gateway.runningCalls.remove(project.id, this);
    this.#resolveEnd(this.#explain(end));
  }

  /** Replaces the end of a call that gw aborted by the reason. */
  #explain(end: CallEnd): CallEnd {
    const { exchange } = this.#attempt.context;
    if (end.kind !== 'aborted') return end;
    if (this.#isCut && !exchange.gone) return { kind: 'cut', sent: end.sent };
    if (this.#isCapped) return { kind: 'capped' };
    if (this.#isTooLong) return failed('an answer without end', TOO_LONG, { sent: true, answered: true });
    if (!this.#isLate || exchange.gone) return end;
    return failed('no answer in time', 'UND_ERR_HEADERS_TIMEOUT', { sent: end.sent, answered: false });
  }

  /** Measures the text anew each time that the stream has grown by half, so that a long one costs little more than once. */
  progress(): CallProgress | undefined {
    const relay = this.#relay;
    const size = this.#streamedBytes;
    if (!relay || size === 0) return undefined;
    if (size >= this.#measureAt) {
      const bytes = relay.receivedText().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      this.#textShare = bytes / size;
      this.#measureAt = size * 1.5;
    }
    const { context, admitted } = this.#attempt;
    const outputTokens = Math.round((size * this.#textShare) / BYTES_PER_TOKEN);
    return { id: context.exchange.id, outputTokens, usedNanoUsd: usedSoFar(context, admitted, outputTokens) };
  }

  onContent(): void {
    this.#onContent();
  }

  onEvents(streamedBytes: number): void {
    this.#streamedBytes = streamedBytes;
    this.#guard?.(streamedBytes);
  }

  /** Cuts a stream in which code printed so much that the next round could outgrow the hold. No token is shorter than a byte. */
  onToolResults(all: ToolResults): void {
    const { quote } = this.#attempt.admitted;
    const { tools, inputTokens } = quote;
    if (tools?.addedTokens === undefined || !isGuarded(this.#attempt)) return;
    const held = inputWith(quote, callsOf(this.#attempt.admitted));
    if (inputTokens + readAgain(all, inputTokens) + tools.roundTokens <= held) return;
    this.#isCapped = true;
    this.#call?.abort();
  }

  /** A requested stream ends with its closing event, even if the provider keeps the connection open. */
  onClosed(): void {
    const { context, route } = this.#attempt;
    if (context.request.stream || hasAlternatives(route)) this.#finish({ kind: 'complete' });
  }

  /** Most hosts that report no usage end the connection at once; one that doesn't is not waited for. */
  onClosedEarly(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#gateway.clock.after(LATE_USAGE_MS, () => this.onClosed());
  }

  onSurplus(): void {
    this.#call?.abort();
  }

  onTooLong(): void {
    this.#isTooLong = true;
    this.#call?.abort();
  }
}

/**
 * Time limit for the first byte at one of several targets; undefined if there is none. Streams have the configured
 * limit. A later attempt also has to answer before the request's deadline.
 */
function firstByteLimitMs(gateway: CallParts, { context, route }: Attempt): number | undefined {
  if (!hasAlternatives(route)) return undefined;
  const own = context.request.stream ? gateway.settings()['routing.first_byte_timeout_ms'] : undefined;
  const leftMs = route?.history ? Math.max(0, remainingMs(gateway, context)) : undefined;
  if (own === undefined && leftMs === undefined) return undefined;
  return Math.min(own ?? Infinity, leftMs ?? Infinity);
}

function failed(message: string, code: string, how: { sent: boolean; answered: boolean }): CallEnd {
  return { kind: 'failed', error: Object.assign(new Error(message), { code }), ...how };
}

/** Time to the deadline: the earlier of gw's own limit and the client's. */
export function remainingMs(
  gateway: Pick<Gateway, 'clock' | 'settings'>,
  { exchange }: AnyRequestContext,
): number {
  const own = gateway.settings()['routing.deadline_ms'];
  return exchange.startedAt + Math.min(own, clientLimitMs(exchange)) - gateway.clock.monotonic();
}
