import { badRequest, GwError } from '../../errors.ts';
import { applyEdits } from '../../json/edit.ts';
import { type LooseRequest, readLoosely } from '../../wire/request/lenient.ts';
import type { PassThroughWire } from '../../wire/wire.ts';
import { admitFinally } from '../admission/admit.ts';
import { deliver } from '../attempt/deliver.ts';
import { prepareAnswer } from '../attempt/prepare-answer.ts';
import { recordRefusal } from '../attempt/refusal-record.ts';
import { sendAttempt } from '../attempt/send-attempt.ts';
import { settle } from '../attempt/settle.ts';
import type { Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { claimRepository } from '../intake/claim-repository.ts';
import { bodyLimits, readBody } from '../intake/read-body.ts';
import { authenticate, receive } from '../intake/receive.ts';
import type { Target } from '../state/resolver.ts';
import { ownLogin, passLogin } from '../subscription/pass-login.ts';
import { unboundedQuote } from '../subscription/unbounded-quote.ts';
import { queryOf } from '../upstream/build-request.ts';
import { upstreamHeaders } from '../upstream/headers.ts';
import { bodyReferences } from './body-references.ts';
import { COUNT_TOKENS, chooseTarget } from './choose-target.ts';
import { costsOf, endpointOf } from './costs.ts';
import { countTokens } from './count-tokens.ts';
import { passThroughWire } from './pass-through-wire.ts';
import { checkObjects, refuseClosed } from './path-access.ts';

/** What this stage uses of the gateway. */
type IntakeParts = Pick<
  Gateway,
  | 'clock'
  | 'settings'
  | 'authenticator'
  | 'keyRates'
  | 'findProject'
  | 'hasBudget'
  | 'recentPrompts'
  | 'attribution'
  | 'bodies'
>;

/**
 * Sends a request of an endpoint that gw has no stages for to a provider unchanged, and books the usage that the answer
 * reports. Its cost has no upper bound, so a project with a budget has to allow it.
 */
export async function passThrough(gateway: Gateway, exchange: Exchange): Promise<void> {
  const { method, url = '', rawHeaders } = exchange.request;
  const path = pathAfterVersion(url);
  const context = await receiveAny(gateway, exchange, path);
  try {
    refuseClosed(gateway, path);
    const login = ownLogin(context);
    if (login) return await passLogin(gateway, context, login, path);
    await claimRepository(gateway, context);
    const target = await chooseTarget(gateway, context, path);
    if (path === COUNT_TOKENS && target.provider.wire !== 'anthropic')
      return await countTokens(gateway, context, target);
    const namesForeign = checkObjects(gateway, context, {
      method: method ?? 'GET',
      path,
      query: queryOf(url),
      body: () => bodyReferences(context.request.bytes, exchange.request.headers),
      provider: target.provider.name,
    });
    const quote = unboundedQuote(gateway, target, costsOf(method, path));
    const admitted = await admitFinally(gateway, { context, target, calendar: gateway.calendar() }, quote);
    const attempt = { context, target, admitted, why: 'passed-through', namesForeign };
    const result = await sendAttempt(gateway, attempt, {
      method: method ?? 'GET',
      path: target.provider.basePath + path + queryOf(url),
      headers: upstreamHeaders(rawHeaders, target.provider),
      body: context.request.bytes.length === 0 ? null : bodyFor(context.request, target),
    });
    prepareAnswer(gateway, attempt, result);
    const settlement = await settle(gateway, attempt, result);
    await result.objects?.written();
    deliver(gateway, attempt, result, settlement);
  } catch (error) {
    if (error instanceof GwError) await recordRefusal(gateway, context, error);
    throw error;
  }
}

async function receiveAny(
  gateway: IntakeParts,
  exchange: Exchange,
  path: string,
): Promise<RequestContext<PassThroughWire> & { request: LooseRequest }> {
  const sender = authenticate(gateway, exchange);
  const body = await readBody(exchange.request, bodyLimits(gateway), 'any', exchange.response);
  exchange.bodyAt = gateway.clock.monotonic();
  const wire = passThroughWire(endpointOf(path), costsOf(exchange.request.method, path));
  const request = readLoosely(body, exchange.request);
  const context = receive(gateway, sender, wire, request);
  if (!context.options.explain) return context;
  throw badRequest(
    `"service.explain" is not supported for ${path}, which gw passes through. Remove the field`,
    'service.explain',
    'unsupported_value',
  );
}

/** The path without `/v1`, which the provider's base URL contains. Throws GwError 404 for a path with `..` in it. */
function pathAfterVersion(url: string): string {
  const path = (url.split('?')[0] ?? '').replace(/\/{2,}/g, '/').replace(/^(\/v1)+(?=\/)/, '');
  if (!/(^|\/)(\.|%2e){1,2}(\/|$)|[\\#]|%2f|%5c/i.test(path)) return path;
  throw new GwError(`no endpoint at ${path}`, {
    status: 404,
    type: 'not_found_error',
    code: 'unknown_endpoint',
  });
}

/** The body with the model's name replaced by the provider's. */
function bodyFor({ model, modelAt, edits, bytes }: LooseRequest, target: Target): Buffer {
  if (!modelAt || target.model === model) return applyEdits(bytes, edits);
  const name = modelAt.quoted ? JSON.stringify(target.model) : target.model;
  return applyEdits(bytes, [...edits, { ...modelAt, text: name }]);
}
