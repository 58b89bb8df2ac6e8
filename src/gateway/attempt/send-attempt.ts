import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  OPEN_BRACE,
  OPEN_BRACKET,
  START_OF_NULL,
} from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { skipSpace } from '../../json/scan.ts';
import { headersByName, type RawHeaders } from '../../raw-headers.ts';
import type { Redactor } from '../../redact.ts';
import { classify } from '../../routing/classify.ts';
import type { Failure, UpstreamOutcome } from '../../routing/failure.ts';
import { type HealthPermit, NO_HEADERS } from '../../routing/health.ts';
import { parseObject, valuesIn } from '../../wire/answer/events.ts';
import { loweredLimit } from '../admission/need.ts';
import { upstreamMessageId, upstreamRequestId } from '../answer/opening.ts';
import { Relay } from '../answer/relay.ts';
import { type ServiceHeaders, serviceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { meterAtBound } from '../metering/meter.ts';
import { ObjectNotes, storesAnswer } from '../objects/object-notes.ts';
import { tapReasoning } from '../routing/mended-calls.ts';
import type { CallEnd, UpstreamRequest } from '../upstream/send.ts';
import { type Attempt, type AttemptResult, hasAlternatives } from './attempt.ts';
import { type CallParts, GuardedCall, isGuarded } from './guarded-call.ts';
import { historyText } from './history.ts';

export type SendParts = CallParts &
  Pick<Gateway, 'credentials' | 'memory' | 'objects' | 'redact' | 'router' | 'warn'>;

/**
 * Sends the request to its target and receives the answer. Resolves when the call has ended. A stream that has started
 * has then gone out except for its closing event. A gathered answer has not gone out.
 */
export async function sendAttempt(
  gateway: SendParts,
  attempt: Attempt,
  request: UpstreamRequest,
): Promise<AttemptResult> {
  const headers = headersOf(attempt);
  const permit = attempt.route && gateway.router.health.begin(attempt.route.target.candidate);
  const call = new GuardedCall(gateway, attempt, () => permit && reportContent(permit, relay, sentAt));
  const credential = gateway.credentials(credentialOf(attempt));
  const objects = objectNotes(gateway, attempt, credential);
  const { context, target } = attempt;
  const tap = tapReasoning(context, target, gateway.memory);
  const relay = new Relay(relayOptions(gateway, attempt, { headers, credential, objects, tap }), call);
  const sentAt = gateway.clock.monotonic();
  attempt.context.exchange.sentAt = sentAt;
  call.start(relay, request);
  const end = await call.end;
  return readResult(gateway, attempt, permit, credential, {
    relay,
    headers,
    sentAt,
    end,
    failure: undefined,
    objects,
    tap,
    upstreamMessageId: '',
    upstreamRequestId: upstreamRequestId(relay),
  });
}

function relayOptions(
  gateway: SendParts,
  attempt: Attempt,
  own: { headers: ServiceHeaders; credential: Redactor } & Pick<AttemptResult, 'objects' | 'tap'>,
) {
  const { headers, credential, objects, tap } = own;
  const { exchange, wire, translator, request } = attempt.context;
  return {
    exchange,
    wire,
    translator,
    hideUsage: request.stream && !request.wantsUsage,
    holdsBack: hasAlternatives(attempt.route),
    mayStop: isGuarded(attempt),
    onHead: attempt.route ? undefined : attempt.onHead,
    onBody: attempt.route ? undefined : attempt.onBody,
    editAnswer: attempt.route ? undefined : attempt.editAnswer,
    ownHeaders: () => serviceHeaders(headers),
    clientIdleMs: gateway.settings()['limits.client_idle_ms'],
    credential,
    takeEvents(events: Buffer) {
      tap?.takeEvents(events);
      return objects?.takeEvents(events);
    },
    redact: (text: string) => gateway.redact(credential.redact(text)),
    now: () => gateway.clock.monotonic(),
    after: (ms: number, run: () => void) => gateway.clock.after(ms, run),
  };
}

/** Reads the end of the answer, and reports the result to the target's health. */
function readResult(
  gateway: SendParts,
  { admitted }: Attempt,
  permit: HealthPermit | undefined,
  credential: Redactor,
  result: AttemptResult,
): AttemptResult {
  try {
    if (result.end.kind === 'complete') result.relay.readEnd();
    noteBody(result);
    result.upstreamMessageId = upstreamMessageId(result.relay, credential);
    if (permit) result.failure = detectFailure(gateway, permit, result);
  } catch (error) {
    result.metered = meterAtBound(gateway, admitted, error);
    permit?.ended();
  }
  return result;
}

/** Records the objects that the answer makes, unless there is a single project or the login is the client's own. */
function objectNotes(
  { objects }: SendParts,
  attempt: Attempt,
  credential: Redactor,
): ObjectNotes | undefined {
  const { context, target } = attempt;
  if (!objects.shared() || context.translator) return undefined;
  if (!attempt.route && (attempt.namesForeign || attempt.login !== undefined)) return undefined;
  return new ObjectNotes({
    objects,
    provider: target.provider.name,
    projectId: context.project.id,
    isStored: storesAnswer(context),
    credential,
  });
}

/** The ids of an answer that has been gathered, and its reasoning. */
function noteBody({ relay, objects, tap }: AttemptResult): void {
  if (relay.isStream || relay.status >= 300 || !relay.unsent) return;
  objects?.takeBody(relay.unsent);
  tap?.takeBody(relay.unsent);
}

/** The credential in the request: the provider's key, or the client's own login. */
function credentialOf({ context, target }: Attempt): string {
  const { authHeaders } = target.provider;
  return authHeaders[1] ?? context.exchange.request.headers.authorization ?? '';
}

/** Cost and remaining budget are added after the settlement. */
function headersOf({ context, target, admitted, why, route }: Attempt): ServiceHeaders {
  return {
    id: context.exchange.id,
    model: target.model,
    provider: target.provider.name,
    api: apiNameOf(context.wire),
    route: route?.history ? historyText(route, undefined) : why,
    savedTokens: context.savedTokens,
    costNanoUsd: undefined,
    remainingNanoUsd: admitted.remaining,
    maxOutputTokens: loweredLimit(admitted.quote, admitted.limit, undefined)?.sent,
    replay: context.exchange.sent && 'miss',
  };
}

const API_NAMES: Readonly<Record<string, string>> = {
  '/chat/completions': 'chat',
  '/messages': 'messages',
  '/responses': 'responses',
  '/generateContent': 'gemini',
  '/embedContent': 'gemini',
};

const apiNameOf = (wire: AnyRequestContext['wire']): string | undefined =>
  'path' in wire ? API_NAMES[wire.path] : undefined;

/** Reports the attempt's result to the target's health. Returns the failure, if there was one. */
function detectFailure(
  gateway: SendParts,
  permit: HealthPermit,
  { relay, end, sentAt }: AttemptResult,
): Failure | undefined {
  const outcome = faultOf(relay, end);
  const failure = outcome && classify(outcome, gateway.clock.now());
  if (failure) permit.failed(failure, gateway.clock.monotonic() - sentAt);
  else reportContent(permit, relay, sentAt);
  permit.ended();
  return failure;
}

/** Reports a success to the target's health, with the time to the first byte. */
function reportContent(permit: HealthPermit, relay: Relay, sentAt: number): void {
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
  // A quick check that saves parsing good answers: for an error that is not null, or an empty list of choices.
  if (!body || (isJsonObject(body) && !hasError(body) && !hasNoChoices(body))) return undefined;
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
  return body[skipSpace(body, 0)] === OPEN_BRACE && body[last] === CLOSE_BRACE;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

const ERROR = Buffer.from('"error"');
const CHOICES = Buffer.from('"choices"');

function hasError(body: Buffer): boolean {
  for (let at = valueAfter(ERROR, body, 0); at >= 0; at = valueAfter(ERROR, body, at)) {
    if (body[at] !== START_OF_NULL) return true;
  }
  return false;
}

/** Checks only the first `choices`, which are the answer's own. */
function hasNoChoices(body: Buffer): boolean {
  const at = valueAfter(CHOICES, body, 0);
  return body[at] === OPEN_BRACKET && body[skipSpace(body, at + 1)] === CLOSE_BRACKET;
}

/** Offset of the value of the next such key; -1 if there is none. */
function valueAfter(key: Buffer, body: Buffer, from: number): number {
  const keyAt = body.indexOf(key, from);
  if (keyAt < 0) return -1;
  let at = skipSpace(body, keyAt + key.length);
  while (body[at] === COLON) at = skipSpace(body, at + 1);
  return at;
}

/** Whether the headers of an answer, a flat list, say that one of the provider's rate limits is used up. */
function isLimitExhausted(headers: RawHeaders): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i + 1] === '0' && /^(x-ratelimit-remaining|anthropic-ratelimit-)/.test(headers[i] ?? ''))
      return true;
  }
  return false;
}
