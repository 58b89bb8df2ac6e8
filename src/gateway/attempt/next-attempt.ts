import { messageOf } from '../../errors.ts';
import { readmitTranslated } from '../admission/readmit.ts';
import { recordResponsesSupport, translateAfterRefusal } from '../routing/translate.ts';
import { type AttemptResult, hasAlternatives, type RoutedAttempt } from './attempt.ts';
import { type FailOverParts, failOver } from './fail-over.ts';
import { refusalOf } from './refusal.ts';
import { rememberResponse } from './remember-response.ts';

/**
 * The attempt to make after this one: a translated request, if the provider turns out to lack the endpoint, or another
 * target, if this one failed before anything of its answer went out. Undefined if this answer goes to the client.
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
    const context = translateAfterRefusal(relay, attempt, gateway);
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
