import { badRequest } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { modelLimits } from '../../pricing/limits.ts';
import type { Provider } from '../../providers/registry.ts';
import { findTranslation } from '../../translation/translations.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Wire } from '../../wire/wire.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { isFromCodex } from '../intake/is-codex.ts';
import type { Target } from '../state/resolve.ts';
import { meansNoEndpoint } from '../state/responses-support.ts';

type TranslationState = Pick<Gateway, 'clock' | 'memory' | 'responsesSupport'>;

/** Anthropic wants a limit on every request; this is for models of which nobody knows how much they write. */
const DEFAULT_MAX_TOKENS = 8_192;

/** Whether a request of this wire can be brought to a provider. */
export function canTranslateTo(wire: Wire, { provider }: Target): boolean {
  return provider.wire === wire.family || findTranslation(wire.endpoint, provider.wire) !== undefined;
}

/**
 * The job in the words of the provider's wire; the very same job where it speaks the client's. Throws GwError 400 for
 * what can't be said there.
 */
export function translateRequest(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
  isChatOnly = false,
): RequestContext {
  const { wire, request } = context;
  const { provider, model } = target;
  const { clock, memory } = gateway;
  if (!isChatOnly && speaksNatively(provider, wire, gateway)) return context;
  const translation = findTranslation(wire.endpoint, provider.wire);
  if (!translation) {
    throw badRequest(
      `"model" ${request.model} is served by ${provider.name}, which has no /v1/${wire.endpoint}. Use /v1/chat/completions or /v1/messages for it`,
      'model',
      'unsupported_endpoint',
    );
  }
  const body = parseObject(request.bytes.toString('utf8'));
  if (!body) throw badRequest('the body is not valid JSON', undefined, 'invalid_json');
  const known = modelLimits(provider.name, model)?.maxOutputTokens;
  const translated = translation.translateRequest(body, {
    model,
    maxTokens: known ?? DEFAULT_MAX_TOKENS,
    outputLimit: provider.outputLimit,
    memory,
    isCodex: isFromCodex(context.exchange.request.headers),
  });
  const sent = translation.wire.parse(Buffer.from(JSON.stringify(translated)));
  const { wantsUsage } = request;
  return {
    ...context,
    wire: translation.wire,
    request: known === undefined ? sent : withLimitOf(sent, request),
    translator: translation.translateAnswers({
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
export function speaksNatively(
  provider: Provider,
  { family, endpoint }: Wire,
  { responsesSupport }: Pick<Gateway, 'responsesSupport'>,
): boolean {
  return provider.wire === family && !(endpoint === 'responses' && responsesSupport.isMissing(provider));
}

/**
 * The job for a provider that turns out to have chat completions alone; undefined where the answer means something
 * else. Throws GwError 400 for what can't be said there.
 */
export function translateAfterRefusal(
  answer: { status: number; body(): string },
  { context, target }: { context: RequestContext; target: Target },
  gateway: TranslationState,
): RequestContext | undefined {
  if (context.wire !== responsesWire || answer.status < 400) return undefined;
  if (gateway.responsesSupport.isSupported(target.provider)) return undefined;
  return meansNoEndpoint(answer.status, answer.body())
    ? translateRequest(context, target, gateway, true)
    : undefined;
}

/** What an answer tells of the provider's endpoints: only a good one is proof, as anything may be refused. */
export function recordResponsesSupport(
  status: number,
  {
    context,
    target,
    route,
  }: { context: RequestContext; target: Target; route?: { context: RequestContext } },
  { responsesSupport }: Pick<Gateway, 'responsesSupport'>,
): void {
  if (status >= 300 || route?.context.wire !== responsesWire || target.provider.wire !== 'openai') return;
  if (context.wire === responsesWire) responsesSupport.markSupported(target.provider);
  else if (!responsesSupport.isMissing(target.provider)) responsesSupport.markMissing(target.provider);
}
