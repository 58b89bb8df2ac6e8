import { GwError } from '../errors.ts';
import { bareRequest, readLoosely } from '../wire/request/lenient.ts';
import { withServiceHeaders } from '../wire/request/service-options.ts';
import type { WireRequest } from '../wire/request/wire-request.ts';
import type { Wire } from '../wire/wire.ts';
import { admit } from './admission/admit.ts';
import type { Attempt } from './attempt/attempt.ts';
import { type Delivered, relayAnswer, type Step } from './attempt/forward.ts';
import { recordGone, recordRefusal } from './attempt/refusal-record.ts';
import type { Exchange } from './context/exchange.ts';
import type { Gateway } from './context/gateway.ts';
import type { RequestContext } from './context/request-context.ts';
import { explain } from './explain.ts';
import { claimRepository } from './intake/claim-repository.ts';
import { ClientGone } from './intake/client-gone.ts';
import { bodyLimits, readBody } from './intake/read-body.ts';
import { ownProject, selectProject } from './intake/select-project.ts';
import { observeAnswer } from './learning/observe-answer.ts';
import { optimize } from './optimize.ts';
import { chooseTier } from './routing/choose-tier.ts';
import { identifyConversation, isDecided } from './routing/identify-conversation.ts';
import { route } from './routing/route.ts';
import { translateRequest } from './routing/translate.ts';
import type { RoutedTarget } from './state/resolve.ts';
import { buildRequest } from './upstream/build-request.ts';

/**
 * A completion request, a stage a line. Every stage throws GwError for the client to read; whatever was held is
 * settled by the stage that sends.
 */
export async function complete(gateway: Gateway, wire: Wire, exchange: Exchange): Promise<void> {
  const asker = authenticate(gateway, exchange);
  let body = NOTHING;
  let context: RequestContext | undefined;
  try {
    body = await readBody(exchange.request, bodyLimits(gateway), 'json', exchange.response);
    context = receive(gateway, wire, body, asker);
    // Where there is nothing to wait for, neither is a promise: an await costs as much as many a stage.
    const named = claimRepository(gateway, context);
    if (named) await named;
    const found = targetsFor(gateway, context);
    const targets = found instanceof Promise ? await found : found;
    if (!context.conversation && isDecided(context, targets))
      context.conversation = identifyConversation(context);
    const shorter = optimize(gateway, context);
    context = shorter instanceof Promise ? await shorter : shorter;
    if (context.options.explain) return await explain(gateway, context, targets);
    const chosen = route(gateway, context, targets);
    const { target, why } = chosen;
    context = translateRequest(context, target, gateway);
    const admitted = await admit(gateway, context, target, gateway.calendar());
    let next: Attempt | undefined = { context, target, admitted, why, route: chosen };
    while (next) {
      const step: Step = await forward(gateway, next);
      if (!step.next) learn(gateway, step.delivered);
      next = step.next;
    }
  } catch (error) {
    const refused = context ?? refusedUnread(wire, body, asker);
    if (refused.options.explain) throw error;
    if (error instanceof GwError) await recordRefusal(gateway, refused, error);
    if (error instanceof ClientGone && context) await recordGone(gateway, context);
    throw error;
  }
}

/** Who asks, and from where. */
type Asker = Pick<RequestContext, 'exchange' | 'caller' | 'origin'>;

function authenticate(gateway: Gateway, exchange: Exchange): Asker {
  const { headers, socket } = exchange.request;
  const caller = gateway.authenticator.authenticate(headers);
  return { exchange, caller, origin: gateway.attribution.originOf(socket) };
}

/** What is asked for, on whose account. */
function receive(
  gateway: Gateway,
  wire: Wire,
  body: Buffer,
  { exchange, caller, origin }: Asker,
): RequestContext {
  const request = wire.parse(body);
  const options = withServiceHeaders(request.options, exchange.request.headers);
  const project = selectProject(caller, options.budgetId, gateway);
  return { exchange, caller, project, origin, wire, request, options, savedTokens: 0 };
}

/** What is on record of a request that says nothing sound, or names an account that its key may not use. */
function refusedUnread(wire: Wire, body: Buffer, { exchange, caller, origin }: Asker): RequestContext {
  const request = readableOf(body, exchange);
  const project = ownProject(caller);
  return { exchange, caller, project, origin, wire, request, options: request.options, savedTokens: 0 };
}

function readableOf(body: Buffer, { request }: Exchange): WireRequest {
  try {
    return readLoosely(body, request);
  } catch {
    return bareRequest(body);
  }
}

const NOTHING: Buffer = Buffer.alloc(0);

/** Where it may go: to a tier that is decided on, where the model has some. */
function targetsFor(
  gateway: Gateway,
  context: RequestContext,
): readonly RoutedTarget[] | Promise<readonly RoutedTarget[]> {
  const { model } = context.request;
  const { family } = context.wire;
  const offer = gateway.tiers.of(model, family);
  return offer ? chooseTier(gateway, context, offer) : gateway.resolver.resolve(model, family);
}

function forward(gateway: Gateway, attempt: Attempt): Promise<Step> {
  return relayAnswer(gateway, attempt, buildRequest(gateway, attempt));
}

/** Lets a project learn from a good answer where a tier was chosen for the request. */
function learn(gateway: Gateway, { attempt, relay, outcome }: Delivered): void {
  const { tier } = attempt.context;
  if (tier && outcome === 'ok') observeAnswer(gateway, attempt, tier, relay);
}
