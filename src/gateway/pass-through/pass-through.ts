import { badRequest, GwError } from '../../errors.ts';
import { applyEdits } from '../../json/edit.ts';
import { type LooseRequest, readLoosely } from '../../wire/request/lenient.ts';
import { withServiceHeaders } from '../../wire/request/service-options.ts';
import { hold } from '../admission/admit.ts';
import { relayAnswer } from '../attempt/forward.ts';
import { recordRefusal } from '../attempt/refusal-record.ts';
import type { Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Job } from '../context/request-context.ts';
import { countWhereNamed } from '../intake/claim-repository.ts';
import { bodyLimits, readBody } from '../intake/read-body.ts';
import { selectProject } from '../intake/select-project.ts';
import type { Target } from '../state/resolve.ts';
import { queryOf } from '../upstream/build-request.ts';
import { upstreamHeaders } from '../upstream/headers.ts';
import { COUNT_TOKENS, chooseTarget } from './choose-target.ts';
import { costsOf, endpointOf } from './costs.ts';
import { countTokens } from './count-tokens.ts';
import { unboundedQuote } from './unbounded-quote.ts';
import { passThroughWire } from './wire.ts';

type Passed = Job & { asked: LooseRequest };

/**
 * Any endpoint that gw has no stages for: the request goes to a provider as it came. What the answer says of usage is
 * booked; as nothing bounds the cost beforehand, a project with a budget has to allow it.
 */
export async function passThrough(gateway: Gateway, exchange: Exchange): Promise<void> {
  const { request } = exchange;
  const path = pathBehindVersion(request.url ?? '');
  const job = await receive(gateway, exchange, path);
  try {
    await countWhereNamed(gateway, job);
    const target = await chooseTarget(gateway, job, path);
    if (path === COUNT_TOKENS && target.provider.wire !== 'anthropic')
      return await countTokens(gateway, job, target);
    const quoted = unboundedQuote(gateway, target, costsOf(request.method, path));
    const admitted = await hold(gateway, { job, target, calendar: gateway.calendar() }, quoted, true);
    if (!admitted) throw new Error('a final admission was not decided');
    const forwarding = { job, target, admitted, why: 'passed-through' };
    await relayAnswer(gateway, forwarding, {
      method: request.method ?? 'GET',
      path: target.provider.basePath + path + queryOf(request.url ?? ''),
      headers: upstreamHeaders(request.rawHeaders, target.provider),
      body: job.asked.bytes.length === 0 ? null : bodyFor(job.asked, target),
    });
  } catch (error) {
    if (error instanceof GwError) await recordRefusal(gateway, job, error);
    throw error;
  }
}

async function receive(gateway: Gateway, exchange: Exchange, path: string): Promise<Passed> {
  const { request, response } = exchange;
  const caller = gateway.authenticator.authenticate(request.headers);
  const origin = gateway.attribution.originOf(request.socket);
  const bytes = await readBody(request, bodyLimits(gateway), 'any', response);
  const asked = readLoosely(bytes, request);
  const options = withServiceHeaders(asked.options, request.headers);
  if (options.explain) {
    throw badRequest(
      `"service.explain" is for completions: what is sent to ${path} is passed on as it is`,
      'service.explain',
      'unsupported_value',
    );
  }
  const project = selectProject(caller, options.budgetId, gateway);
  const wire = passThroughWire(endpointOf(path), costsOf(request.method, path));
  return { exchange, caller, project, origin, wire, asked, options, savedTokens: 0 };
}

/** The path behind `/v1`, which the provider's base URL has its own of. Throws GwError 404 for one that climbs. */
function pathBehindVersion(url: string): string {
  const path = (url.split('?')[0] ?? '').replace(/\/{2,}/g, '/').replace(/^(\/v1)+(?=\/)/, '');
  if (!/(^|\/)(\.|%2e){1,2}(\/|$)|[\\#]|%2f|%5c/i.test(path)) return path;
  throw new GwError(`there is nothing at ${path}`, {
    status: 404,
    type: 'not_found_error',
    code: 'unknown_endpoint',
  });
}

/** The body with the provider's own name of the model, wherever it stood. */
function bodyFor({ model, modelAt, edits, bytes }: LooseRequest, target: Target): Buffer {
  if (!modelAt || target.model === model) return applyEdits(bytes, edits);
  const name = modelAt.quoted ? JSON.stringify(target.model) : target.model;
  return applyEdits(bytes, [...edits, { ...modelAt, text: name }]);
}
