import { GwError, messageOf } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import type { Failure } from '../../routing/failure.ts';
import { valuesIn } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import { type ReadmitParts, readmit, readmitTranslated } from '../admission/readmit.ts';
import type { Relay } from '../answer/relay.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { MeterParts } from '../metering/meter.ts';
import { nextOf, pin, type Route, targetAt } from '../routing/route.ts';
import { recordResponsesSupport, type TranslationState, tryTranslate } from '../routing/translate.ts';
import { type AttemptResult, hasAlternatives, type RoutedAttempt } from './attempt.ts';
import { refusalOf } from './deliver.ts';
import { remainingMs } from './guarded-call.ts';
import { appendFailure } from './history.ts';
import { secondForm } from './second-try.ts';
import { meterAttempt } from './settle.ts';

/**
 * The attempt to make after this one: the request in another form, if the provider refused the one that gw gave it, or
 * another target, if this one failed before anything of its answer went out. Undefined if this answer goes to the client.
 */
export async function nextAttempt(
  gateway: FailOverParts,
  attempt: RoutedAttempt,
  result: AttemptResult,
): Promise<RoutedAttempt | undefined> {
  return (
    (await translatedAttempt(gateway, attempt, result)) ?? (await attemptElsewhere(gateway, attempt, result))
  );
}

/** Has a hold of its own, because the translated request may be longer. */
async function translatedAttempt(
  gateway: FailOverParts,
  attempt: RoutedAttempt,
  { relay, end }: AttemptResult,
): Promise<RoutedAttempt | undefined> {
  if (end.kind !== 'complete') return undefined;
  const { target, route } = attempt;
  recordResponsesSupport(relay.status, attempt, gateway);
  rememberResponse(gateway, attempt.context, route, relay);
  if (attempt.context.exchange.gone) return undefined;
  try {
    const context = await secondForm(relay, attempt, gateway);
    const spent = route.history?.costNanoUsd ?? 0;
    const admitted = context && (await readmitTranslated(gateway, { context, target, spent }));
    return admitted && { ...attempt, context, admitted };
  } catch (error) {
    relay.refusal = refusalOf(error);
    return undefined;
  }
}

async function attemptElsewhere(
  gateway: FailOverParts,
  attempt: RoutedAttempt,
  result: AttemptResult,
): Promise<RoutedAttempt | undefined> {
  if (!hasAlternatives(attempt.route) || !result.failure || result.relay.started) return undefined;
  try {
    return await failOver(gateway, attempt, result, result.failure);
  } catch (error) {
    // The failed attempt has to be settled even if this fails, for example because the database can't be written.
    gateway.warn(`a request could not go on at another target: ${messageOf(error)}`);
    return undefined;
  }
}

type FailOverParts = ReadmitParts & MeterParts & TranslationState & Pick<Gateway, 'router'>;

/**
 * Finds another target for a request whose attempt failed before anything of its answer went out. Replaces the hold by
 * one for the cost so far and the worst case at that target. Skips targets that can't serve the request and those that
 * the budgets have no room for. Undefined if none is left.
 */
export async function failOver(
  gateway: FailOverParts,
  attempt: RoutedAttempt,
  result: AttemptResult,
  failure: Failure,
): Promise<RoutedAttempt | undefined> {
  const { route } = attempt;
  const durationMs = gateway.clock.monotonic() - result.sentAt;
  const tried = [
    ...(route.history?.tried ?? []),
    { target: route.target.candidate, failure, lastResort: route.lastResort },
  ];
  let candidates = route.targets;
  for (;;) {
    const leftMs = remainingMs(gateway, attempt.context);
    const next = nextOf(gateway, route.context, { targets: candidates, tried, remainingMs: leftMs });
    if (next.kind !== 'attempt' || attempt.context.exchange.gone) return undefined;
    const target = targetAt(candidates, next.target);
    candidates = candidates.filter((other) => other !== target);
    const context = await tryTranslate(route.context, target, gateway);
    if (context instanceof GwError) continue;
    result.metered ??= await meterAttempt(gateway, attempt, result);
    const history = appendFailure(route.history, tried, {
      target: route.target,
      failure,
      status: result.relay.status,
      durationMs,
      metered: result.metered,
    });
    const { costNanoUsd: spent } = history;
    const admitted = await readmit(gateway, { context, target, first: route.first, spent });
    if (admitted === 'no room') continue;
    if (admitted === 'resolved before') return undefined;
    pin(gateway, context, target.candidate);
    route.target = target;
    route.lastResort = next.lastResort;
    route.history = history;
    return { context, target, admitted, why: route.why, route };
  }
}

/** Remembers which target stores a response and its conversation. */
function rememberResponse(
  { router }: Pick<Gateway, 'router'>,
  context: RequestContext,
  route: Route | undefined,
  relay: Relay,
): void {
  if (!route?.hasOthers || context.wire !== responsesWire || relay.status >= 300) return;
  for (const id of idsIn(relay)) router.responses.set(id, { target: route.target.candidate });
}

/** Providers choose the ids, and gw keeps many of them. */
const MAX_ID_LENGTH = 200;

function idsIn(relay: Relay): string[] {
  const { id, conversation } = relay.isStream ? responseIn(relay.closingEvent) : membersOf(relay.unsent);
  const ids = [id, isObject(conversation) ? conversation.id : undefined];
  return ids.filter((name) => typeof name === 'string' && name.length <= MAX_ID_LENGTH) as string[];
}

function responseIn(closing: Buffer): Record<string, unknown> {
  for (const { response } of valuesIn(closing)) if (isObject(response)) return response;
  return {};
}

function membersOf(body: Buffer | undefined): Record<string, unknown> {
  const ids: Record<string, unknown> = {};
  try {
    for (const member of body ? scanObject(body) : []) {
      if (body && IDS.includes(member.key)) ids[member.key] = readValue(body, member);
    }
  } catch {
    // A body that is not JSON has no id.
  }
  return ids;
}

const IDS = ['id', 'conversation'];
