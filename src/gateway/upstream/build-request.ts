import { applyEdits, type Edit } from '../../json/edit.ts';
import type { AdmittedRequest } from '../admission/admitted.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import { defaultServiceTierEdits } from './default-service-tier.ts';
import { upstreamHeaders } from './headers.ts';
import { maxPriceEdits } from './openrouter-max-price.ts';
import { outputLimitEdits } from './output-limit.ts';
import type { UpstreamRequest } from './send.ts';
import { stripOwnReasoning } from './strip-own-reasoning.ts';

/** Builds the HTTP request for the provider. */
export function buildRequest(
  gateway: Pick<Gateway, 'settings'>,
  admittedRequest: AdmittedRequest,
): UpstreamRequest {
  const { context, target } = admittedRequest;
  const { provider } = target;
  return {
    path: provider.basePath + context.wire.path + queryFor(context),
    headers: upstreamHeaders(context.exchange.request.rawHeaders, provider, context.translator !== undefined),
    body: applyEdits(context.request.bytes, editsFor(gateway, admittedRequest)),
  };
}

/** The client's query, unless the provider speaks another API. */
export function queryFor({ translator, exchange }: RequestContext): string {
  return translator ? '' : queryOf(exchange.request.url ?? '');
}

/** The query of the client's URL, with its `?`. */
export function queryOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at);
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
