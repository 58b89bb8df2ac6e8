import { badRequest, GwError, notFound } from '../../errors.ts';
import { applyEdits } from '../../json/edit.ts';
import type { Provider } from '../../providers/registry.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import { geminiWire } from '../../wire/apis/gemini.ts';
import { messagesWire } from '../../wire/apis/messages.ts';
import { type LooseRequest, readLoosely } from '../../wire/request/lenient.ts';
import type { PassThroughWire } from '../../wire/wire.ts';
import { admitFinally } from '../admission/admit.ts';
import type { MediaCost } from '../admission/quote.ts';
import { serviceHeaders } from '../answer/service-headers.ts';
import { deliver, prepareAnswer } from '../attempt/deliver.ts';
import { recordRefusal } from '../attempt/refusal-record.ts';
import { sendAttempt } from '../attempt/send-attempt.ts';
import { settle } from '../attempt/settle.ts';
import type { Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext, RequestContext } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import { isUnmistakable } from '../context/request-target.ts';
import { checkBody } from '../intake/check-body.ts';
import { bodyLimits, readBody } from '../intake/read-body.ts';
import { authenticate, receive } from '../intake/receive.ts';
import { scanLoosely } from '../intake/scan-large.ts';
import { claimRepository } from '../intake/select-project.ts';
import type { Target } from '../state/resolver.ts';
import { ownLogin, passLogin, unboundedQuote } from '../subscription/pass-login.ts';
import { channelTo } from '../upstream/build-request.ts';
import { batchOf, noteBatchFile, resultsAtGateway } from './batches.ts';
import { type Costs, costsOf, passThroughWire } from './endpoints.ts';
import {
  COUNT_GOOGLE,
  countedRequest,
  type GoogleCall,
  innerModel,
  knownPath,
  OF_MODEL,
  pathAt,
  refuseStored,
} from './google-call.ts';
import { endJobs, holdForJob, resultsOf } from './jobs.ts';
import { mediaCost } from './media-cost.ts';
import { bodyReferences, checkObjects, endpointClosed, refuseClosed } from './path-access.ts';

type IntakeParts = Pick<Gateway, 'clock'> &
  Parameters<typeof authenticate>[0] &
  Parameters<typeof bodyLimits>[0] &
  Parameters<typeof receive>[0];

/** What the address of a call says. */
export interface AddressedCall {
  /** For a count that is asked for at a cloud's address: the messages request in a body. */
  asBody?(body: Buffer): Buffer;
  /** What a path of Gemini's API says. */
  google?: GoogleCall;
}

/**
 * Sends a request of an endpoint that gw has no stages for to a provider unchanged, and books the usage that the answer
 * reports. Its cost has no upper bound, so a project with a budget has to allow it.
 */
export async function passThrough(
  gateway: Gateway,
  exchange: Exchange,
  addressed: AddressedCall = {},
): Promise<void> {
  const { method = 'GET' } = exchange.request;
  const { query } = exchange.target;
  const { google } = addressed;
  const path = pathOf(exchange, addressed);
  const context = await receiveAny(gateway, exchange, path, addressed);
  try {
    refuseClosed(gateway, path);
    const login = ownLogin(context);
    if (login) return await passLogin(gateway, context, login, path);
    await claimRepository(gateway, context);
    const wire = google ? 'gemini' : wireOf(context, path);
    const chosen = await chooseTarget(gateway, context, path, wire);
    if (isCount(path) && !counts(chosen.provider, wire))
      return await countTokens(gateway, context, { target: chosen, path });
    if (google) refuseStored(gateway, context, path);
    const call = { method, path };
    const about = {
      ...call,
      query,
      body: () => bodyReferences(context.request.bytes, exchange.request.headers),
      provider: chosen.provider.name,
    };
    const namesForeign = !google && (await checkObjects(gateway, context, about));
    checkBody(gateway, context);
    const costs = provenCosts(gateway, context, chosen, path);
    context.wire = passThroughWire(context.wire.endpoint, costs);
    const batch = await batchOf(gateway, context, chosen, call);
    const target = batch ? { ...chosen, model: batch.model } : chosen;
    const quote = unboundedQuote(gateway, target, {
      isFree: costs !== 'unknown',
      media: batch?.cost ?? (costs === 'unknown' ? mediaCostOf(gateway, context, target, path) : undefined),
      unbounded: batch?.unbounded,
    });
    const admitted = await admitFinally(gateway, { context, target, calendar: gateway.calendar() }, quote);
    const results = await resultsOf(gateway, call, target);
    const onBody = results && ((bytes: Buffer) => results.reader.take(bytes));
    const editAnswer = resultsAtGateway(context, call);
    const attempt = { context, target, admitted, why: 'passed-through', namesForeign, onBody, editAnswer };
    const channel = channelTo(gateway, attempt);
    const result = await sendAttempt(gateway, attempt, {
      method,
      path: target.provider.basePath + (google?.model ? pathAt(google, target.model) : path) + channel.query,
      headers: channel.headers,
      body: context.request.bytes.length === 0 ? null : bodyFor(context.request, target, path),
    });
    prepareAnswer(gateway, attempt, result);
    await noteBatchFile(gateway, call, attempt, result);
    await endJobs(gateway, call, attempt, result, results);
    const settlement =
      (await holdForJob(gateway, call, attempt, result, batch?.figures)) ??
      (await settle(gateway, attempt, result));
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
  { asBody, google }: AddressedCall,
): Promise<RequestContext<PassThroughWire> & { request: LooseRequest }> {
  const sender = authenticate(gateway, exchange);
  const kind = asBody ? 'json' : 'any';
  const sent = await readBody(exchange.request, bodyLimits(gateway), kind, exchange.response);
  const body = asBody?.(sent) ?? sent;
  exchange.bodyAt = gateway.clock.monotonic();
  const wire = passThroughWire(endpointOf(path), 'unknown');
  const scan = await scanLoosely(body, exchange.request.headers);
  const read = readLoosely(body, exchange.request, scan);
  const request = google?.model ? { ...read, model: google.model } : read;
  const context = receive(gateway, sender, wire, request);
  if (!context.options.explain) return context;
  throw badRequest(
    `"service.explain" is not supported for ${path}, which gw passes through. Remove the field`,
    'service.explain',
    'unsupported_value',
  );
}

/**
 * What a call costs: nothing by the provider's document alone, and only while its answers report nothing. Throws GwError
 * 403 for an endpoint that no document names, where a key's models or several projects are at stake: nobody knows what it
 * does. A budget refuses it by its cost.
 */
function provenCosts(
  { boundTrust, objects, settings }: Pick<Gateway, 'boundTrust' | 'objects' | 'settings'>,
  { caller, exchange, wire }: RequestContext<PassThroughWire>,
  { provider }: Target,
  path: string,
): Costs {
  const { method = 'GET' } = exchange.request;
  const costs = costsOf(provider, method, path);
  const rule = settings()['passthrough.unlisted'];
  const isOpen = rule === 'allow' || (rule === 'admin' && caller.admin);
  if (costs === undefined && !isOpen && (caller.models !== null || objects.shared()))
    throw endpointClosed(
      `gw does not know what ${method} /v1${path} does at ${provider.name}, so it does not pass it on for a key with models of its own, or beside other projects. The owner of gw can allow such endpoints: gw config set passthrough.unlisted allow`,
    );
  const isFree = costs === 'nothing' && boundTrust.isTrusted({ provider, model: wire.endpoint }, 'free');
  return costs === 'stored' || isFree ? costs : 'unknown';
}

/** What a call can cost at most, unless an answer of the model has cost more than that. */
function mediaCostOf(
  { boundTrust, catalog, clock }: Pick<Gateway, 'boundTrust' | 'catalog' | 'clock'>,
  { exchange, request }: RequestContext<PassThroughWire>,
  target: Target,
  path: string,
): MediaCost | undefined {
  if (!boundTrust.isTrusted(target, 'output')) return undefined;
  const { method = 'GET', headers } = exchange.request;
  const [name, now] = [target.provider.name, clock.now()];
  return mediaCost({
    method,
    path,
    contentType: headers['content-type'] ?? '',
    bytes: request.bytes,
    pieces: request.choices,
    target,
    prices: catalog().media(name, target.model, now),
    card: catalog().find(name, target.model, now),
  });
}

function pathOf({ target }: Exchange, { asBody, google }: AddressedCall): string {
  if (asBody) return COUNT_MESSAGES;
  // Written anew for the provider, so the model's name may have escapes.
  return google?.model ? knownPath(google, target.path) : pathAfterVersion(target.path);
}

/** The path without `/v1`, which the provider's base URL contains. Throws GwError 400 for one that servers may misread. */
function pathAfterVersion(path: string): string {
  if (isUnmistakable(path)) return path.replace(/^\/v1(?:beta)?(?=\/)/, '');
  throw badRequest(
    `gw does not pass on ${path}, which servers may read as another path: it has escapes, ";", "\\" or a segment that ends in a dot`,
    undefined,
    'path_spelling',
  );
}

/** The body with the model's name replaced by the provider's. */
function bodyFor(request: LooseRequest, target: Target, path: string): Buffer {
  const { model, modelAt, edits, bytes } = request;
  if (path === COUNT_GOOGLE) return applyEdits(bytes, [...edits, ...innerModel(request, target.model)]);
  if (!modelAt || target.model === model) return applyEdits(bytes, edits);
  const name = modelAt.quoted ? JSON.stringify(target.model) : target.model;
  return applyEdits(bytes, [...edits, { ...modelAt, text: name }]);
}

/** Rough number of tokens that a message, tool or field takes besides its text. */
const TOKENS_PER_ITEM = 4;

const counts = ({ wire, cloud }: Provider, asked: Provider['wire']): boolean =>
  wire === asked && (cloud?.countsInput ?? true) === true;

/** Answers a count of the messages API or of Gemini's for a model whose provider does not count so. */
async function countTokens(
  gateway: Pick<Gateway, 'clock' | 'ledger' | 'tokens'>,
  context: AnyRequestContext,
  { target, path }: { target: Target; path: string },
): Promise<void> {
  const { request } = context;
  const isGoogle = path === COUNT_GOOGLE;
  const { texts, items, tokens } = isGoogle
    ? geminiWire.promptOf(geminiWire.parse(countedRequest(request)))
    : messagesWire.promptOf(messagesWire.parse(request.bytes));
  const textTokens = await gateway.tokens.count(texts, encodingOf(target.model) ?? 'o200k_base');
  const count = textTokens + tokens + items * TOKENS_PER_ITEM;
  const counted = JSON.stringify(isGoogle ? { totalTokens: count } : { input_tokens: count });
  const { envelope } = context.exchange;
  const body = envelope?.whole(Buffer.from(counted), 200) ?? counted;
  const fields = { status: 200, outcome: 'ok' } as const;
  await gateway.ledger.record(recordOf(context, target, fields, gateway.clock.monotonic()));
  const about = { id: context.exchange.id, model: target.model, provider: target.provider.name };
  context.exchange.response.writeHead(200, [
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
    ...serviceHeaders({ ...about, route: 'counted', savedTokens: 0, costNanoUsd: 0, remainingNanoUsd: null }),
  ]);
  context.exchange.response.end(body);
}

const MAX_SEGMENTS = 4;

/** The endpoint's name in request records, with `{id}` for each id in the path to bound the number of names. */
function endpointOf(path: string): string {
  if (path.startsWith(OF_MODEL)) return `gemini/${path.slice(OF_MODEL.length)}`;
  const segments = path.split('/').filter((segment) => segment !== '');
  return segments
    .slice(0, MAX_SEGMENTS)
    .map((segment, i) => (i % 2 === 0 && /^[a-z_-]{1,32}$/.test(segment) ? segment : actionOrId(segment)))
    .join('/');
}

/** Every second segment is an id or one of a few known words. */
function actionOrId(segment: string): string {
  return ACTIONS.has(segment) ? segment : '{id}';
}

// biome-ignore format: they fit a few lines
const ACTIONS = new Set([
  'speech', 'transcriptions', 'translations', 'generations', 'edits', 'variations', 'completions',
  'count_tokens', 'input_tokens', 'compact', 'batches', 'jobs', 'runs', 'sessions', 'client_secrets', 'calls',
  'cancel', 'content', 'search',
]);

const COUNT_MESSAGES = '/messages/count_tokens';

/** Answered by gw itself when the model's provider does not count. */
const isCount = (path: string): boolean => path === COUNT_MESSAGES || path === COUNT_GOOGLE;

type TargetParts = Pick<Gateway, 'providers' | 'resolver'>;

/**
 * Chooses the target of a pass-through request: the provider of the request's model, else the provider in the header
 * `x-service-provider`, else the only provider that speaks the client's API, else the API's maker.
 */
async function chooseTarget(
  gateway: TargetParts,
  context: AnyRequestContext,
  path: string,
  wire: Provider['wire'],
): Promise<Target> {
  const { request, exchange } = context;
  const header = exchange.request.headers['x-service-provider'];
  const requested = typeof header === 'string' ? findProvider(gateway, header) : undefined;
  if (request.model !== '') {
    const targets = await targetsOf(gateway, request.model, wire);
    const target = targets.find(({ provider }) =>
      requested ? provider === requested : provider.wire === wire,
    );
    if (target) return target;
    const [foreign] = targets;
    if (!requested && foreign && isCount(path)) return foreign;
  }
  return { provider: requested ?? defaultProvider(gateway, wire), model: request.model };
}

/** Empty for a model that no provider lists: it may still exist, such as a new or a fine-tuned one. */
async function targetsOf(
  gateway: TargetParts,
  model: string,
  wire: Provider['wire'],
): Promise<readonly Target[]> {
  try {
    return await gateway.resolver.resolve(model, wire);
  } catch (error) {
    if (error instanceof GwError && error.code === 'model_not_found') return [];
    throw error;
  }
}

function wireOf({ exchange }: AnyRequestContext, path: string): Provider['wire'] {
  const isAnthropic = exchange.request.headers['anthropic-version'] !== undefined;
  return isAnthropic || /^\/messages(\/|$)/.test(path) ? 'anthropic' : 'openai';
}

function findProvider(gateway: Pick<Gateway, 'providers'>, name: string): Provider {
  const provider = gateway.providers().get(name);
  if (provider) return provider;
  throw notFound(`no provider "${name}". See: gw providers list`, 'provider_not_found', 'x-service-provider');
}

function defaultProvider(gateway: Pick<Gateway, 'providers'>, wire: Provider['wire']): Provider {
  const candidates = [...gateway.providers().values()].filter(
    (provider) => provider.wire === wire && provider.source !== 'built-in',
  );
  const maker = candidates.find(({ name }) => name === wire);
  const only = candidates.length === 1 ? candidates[0] : undefined;
  const provider = only ?? maker;
  if (provider) return provider;
  if (candidates.length === 0) {
    throw notFound(`no provider speaks this API. Add one: gw providers add ${wire}`, 'provider_not_found');
  }
  const names = candidates.map(({ name }) => name).join(', ');
  throw badRequest(
    `gw passes this endpoint through, but several providers could take it. Set the header "x-service-provider" to one of ${names}`,
    'x-service-provider',
    'provider_ambiguous',
  );
}
