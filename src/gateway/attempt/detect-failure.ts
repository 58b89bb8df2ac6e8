import { isObject } from '../../json/object.ts';
import { headersByName } from '../../raw-headers.ts';
import { classify } from '../../routing/classify.ts';
import type { Failure, UpstreamOutcome } from '../../routing/failure.ts';
import { type HealthPermit, NO_HEADERS } from '../../routing/health.ts';
import { parseObject, valuesIn } from '../../wire/answer/events.ts';
import type { Relay } from '../answer/relay.ts';
import type { Gateway } from '../context/gateway.ts';
import { isLimitExhausted } from '../upstream/rate-limit-headers.ts';
import type { CallEnd } from '../upstream/send.ts';

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Reports the attempt's result to the target's health. Returns the failure, if there was one. */
export function detectFailure(
  gateway: Pick<Gateway, 'clock'>,
  permit: HealthPermit,
  { relay, end, sentAt }: { relay: Relay; end: CallEnd; sentAt: number },
): Failure | undefined {
  const outcome = faultOf(relay, end);
  const failure = outcome && classify(outcome, gateway.clock.now());
  if (failure) permit.failed(failure, gateway.clock.monotonic() - sentAt);
  else reportContent(permit, relay, sentAt);
  permit.ended();
  return failure;
}

/** Reports a success to the target's health, with the time to the first byte. */
export function reportContent(permit: HealthPermit, relay: Relay, sentAt: number): void {
  const { headers, firstByteAt = sentAt } = relay;
  permit.succeeded(firstByteAt - sentAt, isLimitExhausted(headers) ? headersByName(headers) : NO_HEADERS);
}

/** The fault of a provider's answer; undefined for a good answer. */
function faultOf(relay: Relay, end: CallEnd): UpstreamOutcome | undefined {
  switch (end.kind) {
    case 'capped':
      return undefined;
    case 'aborted':
    case 'cut':
      return { kind: 'client_abort' };
    case 'failed':
      return { kind: 'socket', code: end.error.code ?? end.error.message };
    case 'complete':
      return relay.status >= 400 ? refusalOf(relay) : faultInside(relay);
  }
}

function refusalOf(relay: Relay): UpstreamOutcome {
  const text = relay.unsent?.toString('utf8') ?? '';
  const body = parseObject(text) ?? text;
  return { kind: 'response', status: relay.status, headers: headersByName(relay.headers), body };
}

/** The fault of a 2xx answer: an error in its body, or no content. */
function faultInside(relay: Relay): UpstreamOutcome | undefined {
  const { status, started, isStream, streamError } = relay;
  if (status >= 300 || status === 204) return undefined;
  if (streamError !== undefined) return inBand(relay, errorIn(relay) ?? { error: { message: streamError } });
  if (started) return relay.isCutShort ? { kind: 'socket', code: 'ended early' } : undefined;
  if (isStream) return { kind: 'empty' };
  const body = relay.unsent;
  if (!body || (isJsonObject(body) && !mayBeFaulty(body))) return undefined;
  const answer = parseObject(body.toString('utf8'));
  if (!answer) return { kind: 'empty' };
  if (answer.error && !Array.isArray(answer.choices)) return inBand(relay, answer);
  return Array.isArray(answer.choices) && answer.choices.length === 0 ? { kind: 'empty' } : undefined;
}

function inBand({ headers }: Relay, body: unknown): UpstreamOutcome {
  return { kind: 'response', status: 200, headers: headersByName(headers), body };
}

/** The error event of a stream that has not started. */
function errorIn(relay: Relay): unknown {
  for (const value of valuesIn(relay.unsent ?? Buffer.alloc(0))) {
    if (value.error) return value;
    if (value.type === 'error') return { error: value };
    if (isObject(value.response) && value.response.error) return value.response;
  }
  return undefined;
}

function isJsonObject(body: Buffer): boolean {
  let last = body.length - 1;
  while (isSpace(body[last])) last--;
  return body[behindSpace(body, 0)] === OPEN_BRACE && body[last] === CLOSE_BRACE;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** A quick check that saves parsing good answers: for an error that is not null, or an empty list of choices. */
function mayBeFaulty(body: Buffer): boolean {
  return hasError(body) || hasNoChoices(body);
}

const ERROR = Buffer.from('"error"');
const CHOICES = Buffer.from('"choices"');
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;
/** The first byte of `null`. */
const N = 0x6e;

function hasError(body: Buffer): boolean {
  for (let at = valueAfter(ERROR, body, 0); at >= 0; at = valueAfter(ERROR, body, at)) {
    if (body[at] !== N) return true;
  }
  return false;
}

/** Checks only the first `choices`, which are the answer's own. */
function hasNoChoices(body: Buffer): boolean {
  const at = valueAfter(CHOICES, body, 0);
  return body[at] === OPEN_BRACKET && body[behindSpace(body, at + 1)] === CLOSE_BRACKET;
}

/** Offset of the value of the next such key; -1 if there is none. */
function valueAfter(key: Buffer, body: Buffer, from: number): number {
  const keyAt = body.indexOf(key, from);
  if (keyAt < 0) return -1;
  let at = behindSpace(body, keyAt + key.length);
  while (body[at] === COLON) at = behindSpace(body, at + 1);
  return at;
}

function behindSpace(body: Buffer, from: number): number {
  let at = from;
  while (isSpace(body[at])) at++;
  return at;
}
