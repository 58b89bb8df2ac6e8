import { withoutContextSize } from '../config/aliases.ts';
import { GwError } from '../errors.ts';
import type { WireRequest } from '../wire/request/wire-request.ts';
import type { Wire } from '../wire/wire.ts';
import type { RoutedAttempt } from './attempt/attempt.ts';
import { deliver, prepareAnswer } from './attempt/deliver.ts';
import { firstAttempt } from './attempt/first-attempt.ts';
import { nextAttempt } from './attempt/next-attempt.ts';
import { recordGone, recordRefusal } from './attempt/refusal-record.ts';
import { sendAttempt } from './attempt/send-attempt.ts';
import { settle } from './attempt/settle.ts';
import { ClientGone, type Exchange } from './context/exchange.ts';
import type { Gateway } from './context/gateway.ts';
import type { RequestContext } from './context/request-context.ts';
import { explain } from './explain.ts';
import { checkBody } from './intake/check-body.ts';
import { bodyLimits, readBody } from './intake/read-body.ts';
import { authenticate, readRequest, receive, receiveUnreadable } from './intake/receive.ts';
import { giveWay, isLarge } from './intake/scan-large.ts';
import { claimRepository } from './intake/select-project.ts';
import { rememberPrompt } from './learning/remember-prompt.ts';
import { watchSession } from './learning/watch-session.ts';
import { checkReferences } from './objects/references.ts';
import { optimize } from './optimize.ts';
import { endReplay, keepAnswer, replay } from './replay/replay.ts';
import { chooseTier } from './routing/choose-tier.ts';
import { identifyConversation, needsConversation } from './routing/identify-conversation.ts';
import { route } from './routing/route.ts';
import type { RoutedTarget } from './state/resolver.ts';
import { ownLogin, passLogin } from './subscription/pass-login.ts';
import { buildRequest } from './upstream/build-request.ts';
import type { UpstreamRequest } from './upstream/send.ts';

/**
 * A completion request, a stage a line. A stage throws GwError for the client to read. Before `admit` nothing is held;
 * after it, `settle` is always reached. `asBody` adds what a request's address says to its body.
 */
export async function complete(
  gateway: Gateway,
  wire: Wire,
  exchange: Exchange,
  asBody?: (body: Buffer) => Buffer,
): Promise<void> {
  const sender = authenticate(gateway, exchange);
  let body: Buffer = Buffer.alloc(0);
  let request: WireRequest | undefined;
  let context: RequestContext | undefined;
  try {
    const limits = { ...bodyLimits(gateway), recent: gateway.recentBodies };
    body = await readBody(exchange.request, limits, 'json', exchange.response);
    exchange.bodyAt = gateway.clock.monotonic();
    if (asBody) body = asBody(body);
    const read = readRequest(gateway, wire, body);
    request = read instanceof Promise ? await read : read;
    context = receive(gateway, sender, wire, request);
    const login = ownLogin(context);
    if (login) return await passLogin(gateway, context, login, wire.path);
    await claimRepository(gateway, context);
    const targets = await resolveTargets(gateway, context);
    if (isLarge(body)) await giveWay();
    checkReferences(gateway, context, targets);
    if (isLarge(body)) await giveWay();
    checkBody(gateway, context);
    const replaying = replay(gateway, context, targets);
    if (replaying && (await replaying)) return;
    const mayFallBack = gateway.budgetScopes().fallbacks.has(context.project.id);
    if (!context.conversation && (mayFallBack || needsConversation(context, targets)))
      context.conversation = identifyConversation(context);
    context = await optimize(gateway, context);
    exchange.compressedAt = gateway.clock.monotonic();
    if (context.options.explain) return await explain(gateway, context, targets);
    let attempt = await firstAttempt(gateway, route(gateway, context, targets));
    for (;;) {
      const request = buildRequest(gateway, attempt);
      keepBodies(gateway, context, attempt, request);
      const result = await sendAttempt(gateway, attempt, request);
      const next = await nextAttempt(gateway, attempt, result);
      if (!next) {
        prepareAnswer(gateway, attempt, result);
        const settlement = await settle(gateway, attempt, result);
        await result.objects?.written();
        deliver(gateway, attempt, result, settlement);
        keepAnswer(gateway, attempt, result, settlement);
        watchSession(gateway, attempt.route.context, settlement);
        return rememberPrompt(gateway, attempt, result, settlement);
      }
      attempt = next;
    }
  } catch (error) {
    if (error instanceof GwError)
      await recordRefusal(gateway, context ?? receiveUnreadable(sender, wire, body, request), error);
    if (error instanceof ClientGone && context) await recordGone(gateway, context);
    throw error;
  } finally {
    endReplay(exchange);
  }
}

/** The targets that serve the model: for a model with tiers, those of the tier that the prompt needs. */
function resolveTargets(
  gateway: Gateway,
  context: RequestContext,
): readonly RoutedTarget[] | Promise<readonly RoutedTarget[]> {
  const { model } = context.request;
  const { family } = context.wire;
  const offer = gateway.tiers.of(withoutContextSize(model), family);
  return offer ? chooseTier(gateway, context, offer) : gateway.resolver.resolve(model, family);
}

/** With `requests.keep_bodies`: keeps the client's body, that of the optimizer, and the one that is about to be sent. */
function keepBodies(
  gateway: Pick<Gateway, 'keptBodies'>,
  { clientBody, exchange, request, wire }: RequestContext,
  attempt: RoutedAttempt,
  { body }: UpstreamRequest,
): void {
  if (!clientBody || !body) return;
  gateway.keptBodies.keep(exchange.id, {
    endpoint: wire.path.slice(1),
    client: clientBody,
    optimized: request.bytes,
    sent: body,
    sentEndpoint: attempt.context.wire.path.slice(1),
  });
}
