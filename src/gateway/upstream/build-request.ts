import { applyEdits, type Edit } from '../../json/edit.ts';
import type { Admitted, AdmittedRequest } from '../admission/admitted.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext, RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import { type Beside, passingQuery } from './closed-lists.ts';
import { defaultServiceTierEdits } from './default-service-tier.ts';
import { upstreamHeaders } from './headers.ts';
import { maxPriceEdits } from './openrouter-max-price.ts';
import { outputLimitEdits } from './output-limit.ts';
import type { UpstreamRequest } from './send.ts';
import { stripOwnReasoning } from './strip-own-reasoning.ts';

/** Builds the HTTP request for the provider. */
export function buildRequest(
  gateway: Pick<Gateway, 'settings' | 'objects'>,
  admittedRequest: AdmittedRequest,
): UpstreamRequest {
  const { context, target } = admittedRequest;
  const { provider } = target;
  const { query, headers } = channelTo(gateway, admittedRequest);
  return {
    path: provider.basePath + context.wire.path + query,
    headers,
    body: applyEdits(context.request.bytes, editsFor(gateway, admittedRequest)),
  };
}

/** What of a client's query and headers goes to a provider. A query is for providers that speak the client's API. */
interface Channel {
  query: string;
  headers: string[];
}

/** Closed lists apply where a budget, a key's models or another project is at stake. */
export function channelTo(
  { objects, settings }: Pick<Gateway, 'objects' | 'settings'>,
  { context, target, admitted }: { context: AnyRequestContext; target: Target; admitted: Admitted },
): Channel {
  const isGuarded = admitted.remaining !== null || context.caller.models !== null || objects.shared();
  return isGuarded
    ? guardedChannel(context, target, settings()['passthrough.names'].names)
    : channel(context, target);
}

/** What closed lists, and `names` of the owner's, let pass. The record names the rest. */
export function guardedChannel(
  context: AnyRequestContext,
  target: Target,
  names: ReadonlySet<string> = new Set(),
): Channel {
  const leftOut = new Set(context.leftOut);
  const passing = channel(context, target, { names, leaveOut: (name) => void leftOut.add(name) });
  if (leftOut.size > 0) context.leftOut = [...leftOut];
  return passing;
}

function channel(
  { exchange, translator }: AnyRequestContext,
  { provider }: Target,
  beside?: Beside,
): Channel {
  const { request, target } = exchange;
  const isTranslated = translator !== undefined;
  const headers = upstreamHeaders(request.rawHeaders, provider, { isTranslated, beside });
  if (isTranslated) return { query: '', headers };
  return {
    query: beside ? passingQuery(target.query, request.method ?? 'POST', beside) : target.query,
    headers,
  };
}

/** The edits that don't depend on the hold. */
export function bodyEdits(context: RequestContext, target: Target): Edit[] {
  const { wire, request } = context;
  const edits = [...request.edits, ...stripOwnReasoning(context)];
  if (target.model !== request.model) edits.push(wire.renameModel(request, target.model));
  return edits;
}

/** All edits of the client's body. */
function editsFor(gateway: Pick<Gateway, 'settings'>, admittedRequest: AdmittedRequest): Edit[] {
  const { context, target, admitted } = admittedRequest;
  const { wire, request } = context;
  const edits = bodyEdits(context, target);
  if (admitted.remaining !== null) edits.push(...outputLimitEdits(admittedRequest));
  if (admitted.calls !== undefined) edits.push(...(wire.limitCalls?.(request, admitted.calls) ?? []));
  if (gateway.settings()['admission.service_tier'] === 'default')
    edits.push(...defaultServiceTierEdits(context, target, admitted));
  if (gateway.settings()['admission.host_price'] === 'listed') edits.push(...maxPriceEdits(admittedRequest));
  return edits;
}
