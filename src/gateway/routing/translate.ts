import { badRequest, GwError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { NO_DIALECT } from '../../providers/dialects/dialects.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Api, BodyOptions } from '../../translation/context.ts';
import {
  isApi,
  type Route,
  type TranslatedBody,
  type Translator,
  translateAnswers,
  translateBody,
  wireOf,
} from '../../translation/translate.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { BodyScan } from '../../wire/request/scan/body-scan.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { Wire } from '../../wire/wire.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { isFromCodex } from '../intake/identify-session.ts';
import { readRequest } from '../intake/receive.ts';
import { isLarge, translateInThread } from '../intake/scan-large.ts';
import type { ProviderManners } from '../state/provider-manners.ts';
import type { Target } from '../state/resolver.ts';
import { breaksLaw } from './breaks-law.ts';
import { mendsCalls, withMendedCalls } from './mended-calls.ts';

export type TranslationState = Pick<
  Gateway,
  'clock' | 'memory' | 'responsesSupport' | 'manners' | 'recentTranslations'
>;

/** Anthropic requires an output limit; this one is for models whose maximum is unknown. */
const DEFAULT_MAX_TOKENS = 8_192;

/** Whether a target can serve requests of this API, translated or not. */
export function canTranslateTo(wire: Wire, { provider }: Target): boolean {
  return provider.wire === wire.family || isApi(wire.endpoint);
}

/**
 * Translates a request to the target's API; returns the same context if the target speaks the client's API. Throws
 * GwError 400 for what the target's API can't express. A large body is translated in another thread.
 */
export function translateRequest(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
  lacksResponses = false,
): RequestContext | Promise<RequestContext> {
  if (lacksResponses) return written(context, target, gateway, lacksResponses);
  return (
    nativeForm(context, target, gateway) ??
    written(context, target, gateway, lacksResponses).catch((error) => {
      // What the client sent in its provider's own API is the provider's to refuse.
      const isOwn = speaksNatively(target.provider, context.wire, gateway);
      if (error instanceof GwError && isOwn && !gateway.manners.needsResponses(target))
        return withTakenCalls(context, target, gateway);
      throw error;
    })
  );
}

/** The request in the words of the target's API, and the translator of its answers. */
async function written(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
  lacksResponses: boolean,
): Promise<RequestContext> {
  const { wire, request } = context;
  const { provider, model } = target;
  const from = wire.endpoint;
  if (!isApi(from)) {
    throw badRequest(
      `"model" ${request.model} is served by ${provider.name}, which has no /v1/${from}. Use /v1/chat/completions or /v1/messages for it`,
      'model',
      'unsupported_endpoint',
    );
  }
  const to = lacksResponses ? 'chat/completions' : apiOf(context, target, gateway);
  const memory = gateway.memory(context.project.id);
  const maxOutputTokens = modelLimits(provider.name, model)?.maxOutputTokens;
  const options: BodyOptions = {
    provider: provider.name,
    model,
    maxTokens: maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    maxOutputTokens,
    outputLimit: provider.outputLimit,
    dialect: gateway.manners.dialectOf(target),
    isCodex: isFromCodex(context.exchange.request.headers),
  };
  const { bytes } = request;
  const body: TranslatedBody & { scan?: BodyScan } = isLarge(bytes)
    ? await translateInThread(bytes, { from, to }, options, memory)
    : translateBody(bytes, { from, to }, options, memory);
  const upstream = wireOf(to, from);
  const read = body.scan
    ? upstream.parse(body.bytes, body.scan)
    : await readRequest({ recentBodies: gateway.recentTranslations }, upstream, body.bytes);
  const translated = askingUsage(read, target, gateway.manners);
  // An answer in the client's API stays as it is, unless it has names of gw's.
  const isAnswerOwn = to === from && body.names.length === 0;
  return {
    ...context,
    wire: upstream,
    request: {
      ...(maxOutputTokens === undefined ? translated : withLimitOf(translated, request)),
      ...(isAnswerOwn && { wantsUsage: request.wantsUsage }),
    },
    leftOut: body.leftOut,
    ...(lacksResponses && { lacksResponses }),
    ...(!isAnswerOwn && {
      translator: translatorOf(context, target, gateway, { from, to }, body),
    }),
  };
}

/** The request as a target that speaks the client's API takes it; undefined for one that doesn't. */
function nativeForm(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
): RequestContext | undefined {
  const { manners } = gateway;
  if (!speaksNatively(target.provider, context.wire, gateway)) return undefined;
  if (context.wire.endpoint === 'chat/completions') {
    if (manners.needsResponses(target)) return undefined;
    if (breaksLaw(context.request, target.provider.dialect ?? NO_DIALECT)) return undefined;
  }
  return withTakenCalls(context, target, gateway);
}

function translatorOf(
  { request, project }: RequestContext,
  { provider, model }: Target,
  gateway: TranslationState,
  route: Route,
  { request: asked, names, callIds }: TranslatedBody,
): Translator {
  return translateAnswers(route, {
    provider: provider.name,
    dialect: provider.dialect ?? NO_DIALECT,
    model,
    wantsUsage: request.wantsUsage,
    now: gateway.clock.now,
    request: asked,
    names,
    callIds,
    newId,
    memory: gateway.memory(project.id),
  });
}

/** The request of a client that speaks the target's API, its earlier calls as the target takes them. */
function withTakenCalls(context: RequestContext, target: Target, gateway: TranslationState): RequestContext {
  const { manners } = gateway;
  const { dialect = NO_DIALECT } = target.provider;
  const whole = mendsCalls(dialect, target.model)
    ? withMendedCalls(context, target, gateway.memory(context.project.id), dialect)
    : context;
  const request = askingUsage(whole.request, target, manners);
  return request === whole.request ? whole : { ...whole, request };
}

/** The request without gw's question for the usage of its stream, where the provider refuses that. */
function askingUsage(request: WireRequest, target: Target, manners: ProviderManners): WireRequest {
  if (!addsField(request, USAGE_FIELD) || !manners.refuses(target, USAGE_FIELD)) return request;
  return { ...request, edits: request.edits.filter(({ text }) => !text.includes(`"${USAGE_FIELD}"`)) };
}

/** The field by which gw asks for a stream's usage. */
const USAGE_FIELD = 'stream_options';

/** Whether an edit of gw's adds a field to a request. */
export const addsField = ({ edits }: WireRequest, field: string): boolean =>
  edits.some(({ text }) => text.includes(`"${field}"`));

/** The provider's API that serves a request best. */
function apiOf(
  { wire, request }: RequestContext,
  target: Target,
  { responsesSupport, manners }: TranslationState,
): Api {
  const { provider, model } = target;
  if (provider.wire === 'anthropic') return 'messages';
  if (provider.wire === 'gemini') return 'gemini';
  const { responses } = manners.dialectOf(target);
  if (!responses || wire.endpoint === 'responses' || responsesSupport.isMissing(provider))
    return 'chat/completions';
  const hasTools = request.members.some(({ key }) => key === 'tools');
  const needs = responses.always.test(model) || (hasTools && responses.withTools.test(model));
  // Only chat completions have them.
  const hasStops = request.members.some(({ key }) => key === 'stop' || key === 'stop_sequences');
  return needs && !hasStops ? 'responses' : 'chat/completions';
}

/** The translated request, or why the target's API can't express it. */
export async function tryTranslate(
  context: RequestContext,
  target: Target,
  gateway: TranslationState,
): Promise<RequestContext | GwError> {
  try {
    return await translateRequest(context, target, gateway);
  } catch (error) {
    if (error instanceof GwError) return error;
    throw error;
  }
}

/** Keeps the lack of a client's own limit, so that one that only the API requires may still be cut to fit a budget. */
function withLimitOf(translated: WireRequest, { maxOutputTokens }: WireRequest): WireRequest {
  return maxOutputTokens === undefined ? { ...translated, maxOutputTokens } : translated;
}

/** Whether a provider accepts requests of this API without translation. */
export function speaksNatively(
  provider: Provider,
  { family, endpoint }: Wire,
  { responsesSupport }: Pick<Gateway, 'responsesSupport'>,
): boolean {
  return provider.wire === family && !(endpoint === 'responses' && responsesSupport.isMissing(provider));
}

/** Records which endpoint a provider has. Only a 2xx answer is proof: anything may be refused. */
export function recordResponsesSupport(
  status: number,
  { context, target: { provider } }: { context: RequestContext; target: Target },
  { responsesSupport }: Pick<Gateway, 'responsesSupport'>,
): void {
  if (status >= 300 || provider.wire !== 'openai') return;
  if (context.wire.path === responsesWire.path) responsesSupport.markSupported(provider);
  else if (context.lacksResponses) responsesSupport.markMissing(provider);
}
