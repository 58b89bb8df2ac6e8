import { badRequest } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { modelLimits } from '../../pricing/limits.ts';
import type { Provider } from '../../providers/registry.ts';
import { findCrossing } from '../../translation/translations.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Wire } from '../../wire/wire.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Job } from '../context/request-context.ts';
import { isFromCodex } from '../intake/is-codex.ts';
import type { Target } from '../state/resolve.ts';
import { meansNoEndpoint } from '../state/responses-support.ts';

type Crossroads = Pick<Gateway, 'clock' | 'memory' | 'chatOnly'>;

/** Anthropic wants a limit on every request; this is for models of which nobody knows how much they write. */
const DEFAULT_MAX_TOKENS = 8_192;

/** Whether a request of this wire can be brought to a provider. */
export function canReach(wire: Wire, { provider }: Target): boolean {
  return provider.wire === wire.family || findCrossing(wire.endpoint, provider.wire) !== undefined;
}

/**
 * The job in the words of the provider's wire; the very same job where it speaks the client's. Throws GwError 400 for
 * what can't be said there.
 */
export function cross(job: Job, target: Target, gateway: Crossroads, isChatOnly = false): Job {
  const { wire, asked } = job;
  const { provider, model } = target;
  const { clock, memory } = gateway;
  if (!isChatOnly && speaks(provider, wire, gateway)) return job;
  const crossing = findCrossing(wire.endpoint, provider.wire);
  if (!crossing) {
    throw badRequest(
      `"model" ${asked.model} is served by ${provider.name}, which has no /v1/${wire.endpoint}. Use /v1/chat/completions or /v1/messages for it`,
      'model',
      'unsupported_endpoint',
    );
  }
  const body = parseObject(asked.bytes.toString('utf8'));
  if (!body) throw badRequest('the body is not valid JSON', undefined, 'invalid_json');
  const known = modelLimits(provider.name, model)?.maxOutputTokens;
  const translated = crossing.translateRequest(body, {
    model,
    maxTokens: known ?? DEFAULT_MAX_TOKENS,
    outputLimit: provider.outputLimit,
    memory,
    isCodex: isFromCodex(job.exchange.request.headers),
  });
  const sent = crossing.wire.parse(Buffer.from(JSON.stringify(translated)));
  const { wantsUsage } = asked;
  return {
    ...job,
    wire: crossing.wire,
    asked: known === undefined ? sent : withLimitOf(sent, asked),
    translator: crossing.translateAnswers({
      model,
      wantsUsage,
      now: clock.now,
      request: body,
      newId,
      memory,
    }),
  };
}

/** A limit that was only written because the wire wants one may be cut to what a budget affords. */
function withLimitOf(sent: WireRequest, { maxOutputTokens }: WireRequest): WireRequest {
  return { ...sent, maxOutputTokens };
}

/** Whether a provider takes the client's requests as they are. */
export function speaks(
  provider: Provider,
  { family, endpoint }: Wire,
  { chatOnly }: Pick<Gateway, 'chatOnly'>,
): boolean {
  return provider.wire === family && !(endpoint === 'responses' && chatOnly.has(provider));
}

/**
 * The job for a provider that turns out to have chat completions alone; undefined where the answer means something
 * else. Throws GwError 400 for what can't be said there.
 */
export function crossAfter(
  answer: { status: number; body(): string },
  { job, target }: { job: Job; target: Target },
  gateway: Crossroads,
): Job | undefined {
  if (job.wire !== responsesWire || answer.status < 400) return undefined;
  if (gateway.chatOnly.isKnownOtherwise(target.provider)) return undefined;
  return meansNoEndpoint(answer.status, answer.body()) ? cross(job, target, gateway, true) : undefined;
}

/** What an answer tells of the provider's endpoints: only a good one is proof, as anything may be refused. */
export function learnEndpoint(
  status: number,
  { job, target, route }: { job: Job; target: Target; route?: { job: Job } },
  { chatOnly }: Pick<Gateway, 'chatOnly'>,
): void {
  if (status >= 300 || route?.job.wire !== responsesWire || target.provider.wire !== 'openai') return;
  if (job.wire === responsesWire) chatOnly.learnOtherwise(target.provider);
  else if (!chatOnly.has(target.provider)) chatOnly.learn(target.provider);
}
