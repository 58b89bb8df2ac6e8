import type { Redactor } from '../../redact.ts';
import type { HealthPermit } from '../../routing/health.ts';
import { loweredLimit } from '../admission/lowered-limit.ts';
import { Relay } from '../answer/relay.ts';
import { type ServiceHeaders, serviceHeaders } from '../answer/service-headers.ts';
import { upstreamMessageId, upstreamRequestId } from '../answer/upstream-ids.ts';
import type { Gateway } from '../context/gateway.ts';
import { meterAtBound } from '../metering/meter.ts';
import { ObjectNotes } from '../objects/object-notes.ts';
import { storesAnswer } from '../objects/stores-answer.ts';
import type { UpstreamRequest } from '../upstream/send.ts';
import { type Attempt, type AttemptResult, hasAlternatives } from './attempt.ts';
import { detectFailure, reportContent } from './detect-failure.ts';
import { GuardedCall, isGuarded } from './guarded-call.ts';
import { historyText } from './history.ts';

/** What this stage uses of the gateway. */
export type SendParts = Pick<
  Gateway,
  | 'bodies'
  | 'clock'
  | 'credentials'
  | 'objects'
  | 'redact'
  | 'runningCalls'
  | 'settings'
  | 'router'
  | 'tokens'
  | 'upstreams'
  | 'warn'
>;

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
  const relay = new Relay(relayOptions(gateway, attempt, { headers, credential, objects }), call);
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
    upstreamMessageId: '',
    upstreamRequestId: upstreamRequestId(relay),
  });
}

function relayOptions(
  gateway: Pick<Gateway, 'clock' | 'redact' | 'settings'>,
  attempt: Attempt,
  {
    headers,
    credential,
    objects,
  }: { headers: ServiceHeaders; credential: Redactor; objects: ObjectNotes | undefined },
) {
  const { exchange, wire, translator, request } = attempt.context;
  return {
    exchange,
    wire,
    translator,
    hideUsage: request.stream && !request.wantsUsage,
    holdsBack: hasAlternatives(attempt.route),
    mayStop: isGuarded(attempt),
    ownHeaders: () => serviceHeaders(headers),
    clientIdleMs: gateway.settings()['limits.client_idle_ms'],
    credential,
    objects,
    redact: (text: string) => gateway.redact(credential.redact(text)),
    now: () => gateway.clock.monotonic(),
  };
}

/** Reads the end of the answer, and reports the result to the target's health. */
function readResult(
  gateway: Pick<Gateway, 'clock' | 'warn'>,
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

/** What the answer makes is written down for the project, unless there is no other, or the login is the client's own. */
function objectNotes(
  { objects }: Pick<Gateway, 'objects'>,
  attempt: Attempt,
  credential: Redactor,
): ObjectNotes | undefined {
  const { context, target } = attempt;
  if (!objects.shared() || context.translator || attempt.why === 'subscription') return undefined;
  if (!attempt.route && attempt.namesForeign) return undefined;
  return new ObjectNotes({
    objects,
    provider: target.provider.name,
    projectId: context.project.id,
    isStored: storesAnswer(context),
    credential,
  });
}

/** The ids of an answer that has been gathered. */
function noteBody({ relay, objects }: AttemptResult): void {
  if (objects && !relay.isStream && relay.status < 300 && relay.unsent) objects.takeBody(relay.unsent);
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
    route: route?.history ? historyText(route, undefined) : why,
    savedTokens: context.savedTokens,
    costNanoUsd: undefined,
    remainingNanoUsd: admitted.remaining,
    maxOutputTokens: loweredLimit(admitted.quote, admitted.limit, undefined)?.sent,
  };
}
