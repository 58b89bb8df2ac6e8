import { badRequest, GwError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { modelLimits } from '../../pricing/limits.ts';
import type { Provider } from '../../providers/registry.ts';
import { createLeftOut } from '../../translation/left-out.ts';
import { findTranslation } from '../../translation/translations.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Wire } from '../../wire/wire.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { isFromCodex } from '../intake/identify-session.ts';
import { runAtOnce, runSteps } from '../intake/scan-large.ts';
import type { Target } from '../state/resolver.ts';
import { meansNoEndpoint } from '../state/responses-support.ts';

type TranslationState = Pick<Gateway, 'clock' | 'memory' | 'responsesSupport'>;

/** Anthropic requires an output limit; this one is for models whose maximum is unknown. */
const DEFAULT_MAX_TOKENS = 8_192;

/** Whether a target can serve requests of this API, translated or not. */
export function canTranslateTo(wire: Wire, { provider }: Target): boolean {
  return provider.wire === wire.family || findTranslation(wire.endpoint, provider.wire) !== undefined;
}

/**
 * Translates a request to the target's API; returns the same context if the target speaks the client's API. Throws
 * GwError 400 for what the target's API can't express.
 */
export function translateRequest(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
  lacksResponses = false,
): RequestContext {
  if (!lacksResponses && speaksNatively(target.provider, context.wire, gateway)) return context;
  return runAtOnce(translationSteps(context, target, gateway));
}

/** The same, with turns for other requests between the steps of a large body. */
export function translateInTurns(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
): RequestContext | Promise<RequestContext> {
  if (speaksNatively(target.provider, context.wire, gateway)) return context;
  return runSteps(translationSteps(context, target, gateway), context.request.bytes);
}

function* translationSteps(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
): Generator<undefined, RequestContext> {
  const { wire, request } = context;
  const { provider, model } = target;
  const { clock } = gateway;
  const memory = gateway.memory(context.project.id);
  const translation = findTranslation(wire.endpoint, provider.wire);
  if (!translation) {
    throw badRequest(
      `"model" ${request.model} is served by ${provider.name}, which has no /v1/${wire.endpoint}. Use /v1/chat/completions or /v1/messages for it`,
      'model',
      'unsupported_endpoint',
    );
  }
  const text = request.bytes.toString('utf8');
  yield;
  const body = parseObject(text);
  yield;
  if (!body) throw badRequest('the body is not valid JSON', undefined, 'invalid_json');
  const maxOutputTokens = modelLimits(provider.name, model)?.maxOutputTokens;
  const leftOut = createLeftOut();
  const translatedBody = translation.translateRequest(body, {
    model,
    maxTokens: maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    outputLimit: provider.outputLimit,
    reasoning: provider.reasoning,
    keepsExtras: provider.keepsExtras,
    memory,
    isCodex: isFromCodex(context.exchange.request.headers),
    leaveOut: leftOut.leaveOut,
  });
  yield;
  const json = JSON.stringify(translatedBody);
  yield;
  const bytes = Buffer.from(json);
  yield;
  const translated = translation.wire.parse(bytes);
  const { wantsUsage } = request;
  return {
    ...context,
    wire: translation.wire,
    request: maxOutputTokens === undefined ? translated : withLimitOf(translated, request),
    leftOut: leftOut.fields(),
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

/** The translated request, or why the target's API can't express it. */
export function tryTranslate(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
): RequestContext | GwError {
  try {
    return translateRequest(context, target, gateway);
  } catch (error) {
    if (error instanceof GwError) return error;
    throw error;
  }
}

/** Keeps the client's own limit, so that a limit that only the API requires may still be cut to fit a budget. */
function withLimitOf(translated: WireRequest, { maxOutputTokens }: WireRequest): WireRequest {
  return { ...translated, maxOutputTokens };
}

/** Whether a provider accepts requests of this API without translation. */
export function speaksNatively(
  provider: Provider,
  { family, endpoint }: Wire,
  { responsesSupport }: Pick<Gateway, 'responsesSupport'>,
): boolean {
  return provider.wire === family && !(endpoint === 'responses' && responsesSupport.isMissing(provider));
}

/**
 * Translates a Responses request to chat completions after its provider answered that it has no such endpoint; undefined
 * when the answer means something else. Throws GwError 400 for what chat completions can't express.
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

/** Records which endpoint a provider has. Only a 2xx answer is proof: anything may be refused. */
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
