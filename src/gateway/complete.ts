import { GwError } from '../errors.ts';
import { bareRequest, readLoosely } from '../wire/request/lenient.ts';
import { withServiceHeaders } from '../wire/request/service-options.ts';
import type { WireRequest } from '../wire/request/wire-request.ts';
import type { Wire } from '../wire/wire.ts';
import { admit } from './admission/admit.ts';
import type { Forwarding } from './attempt/attempt.ts';
import { type Delivered, relayAnswer, type Step } from './attempt/forward.ts';
import { recordGone, recordRefusal } from './attempt/refusal-record.ts';
import type { Exchange } from './context/exchange.ts';
import type { Gateway } from './context/gateway.ts';
import type { Job } from './context/request-context.ts';
import { explain } from './explain.ts';
import { countWhereNamed } from './intake/claim-repository.ts';
import { ClientGone } from './intake/client-gone.ts';
import { bodyLimits, readBody } from './intake/read-body.ts';
import { ownProject, selectProject } from './intake/select-project.ts';
import { learnFrom } from './learning/observe-answer.ts';
import { optimize } from './optimize.ts';
import { chooseTier } from './routing/choose-tier.ts';
import { conversationOf, isDecided } from './routing/identify-conversation.ts';
import { route } from './routing/route.ts';
import { cross } from './routing/translate.ts';
import type { RoutedTarget } from './state/resolve.ts';
import { outgoingOf } from './upstream/build-request.ts';

/**
 * A completion request, a stage a line. Every stage throws GwError for the client to read; whatever was held is
 * settled by the stage that sends.
 */
export async function complete(gateway: Gateway, wire: Wire, exchange: Exchange): Promise<void> {
  const asker = authenticate(gateway, exchange);
  let body = NOTHING;
  let job: Job | undefined;
  try {
    body = await readBody(exchange.request, bodyLimits(gateway), 'json', exchange.response);
    job = receive(gateway, wire, body, asker);
    // Where there is nothing to wait for, neither is a promise: an await costs as much as many a stage.
    const named = countWhereNamed(gateway, job);
    if (named) await named;
    const found = targetsFor(gateway, job);
    const targets = found instanceof Promise ? await found : found;
    if (!job.conversation && isDecided(job, targets)) job.conversation = conversationOf(job);
    const shorter = optimize(gateway, job);
    job = shorter instanceof Promise ? await shorter : shorter;
    if (job.options.explain) return await explain(gateway, job, targets);
    const chosen = route(gateway, job, targets);
    const { target, why } = chosen;
    job = cross(job, target, gateway);
    const admitted = await admit(gateway, job, target, gateway.calendar());
    let next: Forwarding | undefined = { job, target, admitted, why, route: chosen };
    while (next) {
      const step: Step = await forward(gateway, next);
      if (!step.next) learn(gateway, step.delivered);
      next = step.next;
    }
  } catch (error) {
    const refused = job ?? refusedUnread(wire, body, asker);
    if (refused.options.explain) throw error;
    if (error instanceof GwError) await recordRefusal(gateway, refused, error);
    if (error instanceof ClientGone && job) await recordGone(gateway, job);
    throw error;
  }
}

/** Who asks, and from where. */
type Asker = Pick<Job, 'exchange' | 'caller' | 'origin'>;

function authenticate(gateway: Gateway, exchange: Exchange): Asker {
  const { headers, socket } = exchange.request;
  const caller = gateway.authenticator.authenticate(headers);
  return { exchange, caller, origin: gateway.attribution.originOf(socket) };
}

/** What is asked for, on whose account. */
function receive(gateway: Gateway, wire: Wire, body: Buffer, { exchange, caller, origin }: Asker): Job {
  const asked = wire.parse(body);
  const options = withServiceHeaders(asked.options, exchange.request.headers);
  const project = selectProject(caller, options.budgetId, gateway);
  return { exchange, caller, project, origin, wire, asked, options, savedTokens: 0 };
}

/** What is on record of a request that says nothing sound, or names an account that its key may not use. */
function refusedUnread(wire: Wire, body: Buffer, { exchange, caller, origin }: Asker): Job {
  const asked = readableOf(body, exchange);
  const project = ownProject(caller);
  return { exchange, caller, project, origin, wire, asked, options: asked.options, savedTokens: 0 };
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
function targetsFor(gateway: Gateway, job: Job): readonly RoutedTarget[] | Promise<readonly RoutedTarget[]> {
  const { model } = job.asked;
  const { family } = job.wire;
  const offer = gateway.tiers.of(model, family);
  return offer ? chooseTier(gateway, job, offer) : gateway.resolver.resolve(model, family);
}

function forward(gateway: Gateway, forwarding: Forwarding): Promise<Step> {
  return relayAnswer(gateway, forwarding, outgoingOf(gateway, forwarding));
}

/** Lets a project learn from a good answer where a tier was chosen for the request. */
function learn(gateway: Gateway, { forwarding, relay, outcome }: Delivered): void {
  const { tier } = forwarding.job;
  if (tier && outcome === 'ok') learnFrom(gateway, forwarding, tier, relay);
}
