import { withoutContextSize } from '../../config/aliases.ts';
import { GwError } from '../../errors.ts';
import { type Labels, mergeLabels } from '../../labels.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { bareRequest, readLoosely } from '../../wire/request/lenient.ts';
import { modelsIn } from '../../wire/request/named-models.ts';
import type { BodyScan } from '../../wire/request/scan/body-scan.ts';
import { type ServiceOptions, withServiceHeaders } from '../../wire/request/service-options.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { AnswerWire, Wire } from '../../wire/wire.ts';
import type { Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { identifySession } from './identify-session.ts';
import { isLarge, scanRequest } from './scan-large.ts';
import { ownProject, selectProject } from './select-project.ts';

/** Who sends a request, and from where. */
type Sender = Pick<RequestContext, 'exchange' | 'caller' | 'origin'>;

/** Throws GwError 401 for a missing or unknown key. */
export function authenticate(
  gateway: Pick<Gateway, 'attribution' | 'authenticator'>,
  exchange: Exchange,
): Sender {
  const { headers, socket } = exchange.request;
  const caller = gateway.authenticator.authenticate(headers);
  return { exchange, caller, origin: gateway.attribution.originOf(socket) };
}

/** Reads a body. What it shares with the last ones is not scanned again. Throws GwError 400 with `param`. */
export function readRequest(
  { recentBodies }: Pick<Gateway, 'recentBodies'>,
  wire: Wire,
  bytes: Buffer,
): WireRequest | Promise<WireRequest> {
  const earlier = recentBodies.find(bytes);
  const parse = (scan: BodyScan) => {
    recentBodies.keep({ bytes, scan }, earlier);
    const request = wire.parse(bytes, scan);
    if (earlier) request.like = { bytes, earlier };
    return request;
  };
  const scan = scanRequest(bytes, wire, earlier);
  return scan instanceof Promise ? scan.then(parse) : parse(scan);
}

/** A parsed request on the account of its project. Throws GwError 403, 404 and 429 for one that the key can't make. */
export function receive<W extends AnswerWire, Request extends WireRequest>(
  accounts: Pick<Gateway, 'findProject' | 'hasBudget' | 'keyRates' | 'recentPrompts'>,
  sender: Sender,
  wire: W,
  request: Request,
): RequestContext<W> & { request: Request } {
  const { headers } = sender.exchange.request;
  checkKey(accounts, sender, request);
  const options = withLabelsOfKey(withServiceHeaders(request.options, headers), sender.caller.labels);
  const project = selectProject(sender.caller, options.budgetId, accounts);
  const { exchange, caller, origin } = sender;
  const session = identifySession(headers, request);
  // Written out: a context made by spreading costs 20 us a request, as V8 no longer shares its shape.
  const { recentPrompts } = accounts;
  return {
    exchange,
    caller,
    project,
    origin,
    session,
    wire,
    request,
    options,
    recentPrompts,
    savedTokens: 0,
  };
}

/** The labels of the key join the request's own, which take precedence. */
function withLabelsOfKey(options: ServiceOptions, labels: Labels | null): ServiceOptions {
  if (labels === null) return options;
  return { ...options, labels: mergeLabels('service.labels', options.labels, labels) ?? labels };
}

/** Record of a request that can't be parsed, or that names an account its key can't use. */
export function receiveUnreadable(
  sender: Sender,
  wire: Wire,
  body: Buffer,
  request = readable(body, sender.exchange),
): RequestContext {
  const project = ownProject(sender.caller);
  const session = identifySession(sender.exchange.request.headers, request);
  return { ...sender, project, session, wire, request, options: request.options, savedTokens: 0 };
}

function readable(body: Buffer, { request }: Exchange): WireRequest {
  try {
    return isLarge(body) ? bareRequest(body) : readLoosely(body, request);
  } catch {
    return bareRequest(body);
  }
}

/** Checks what the key itself allows. Throws GwError 403 `model_forbidden` and 429 `key_rate_limited`. */
function checkKey(
  { keyRates }: Pick<Gateway, 'keyRates'>,
  { caller, exchange }: { caller: Caller; exchange: Exchange },
  request: WireRequest,
): void {
  if (caller.models !== null) checkModel(caller.models, caller.keyId, exchange.request.method, request);
  if (caller.rpm === null) return;
  const waitMs = keyRates.take(caller.keyId, caller.rpm);
  if (waitMs > 0) throw rateLimited(caller.keyId, caller.rpm, waitMs);
}

/**
 * Refuses a request that lets a model answer which the key may not use: each that it names counts, and so does what
 * chooses one elsewhere. A request without a model may use any, as a batch does; only reading is free of that.
 */
function checkModel(
  models: readonly string[],
  keyId: number,
  method: string | undefined,
  request: WireRequest,
): void {
  const { model } = request;
  const named = request.named?.() ?? modelsIn(request.bytes, request.members);
  const isRead = model === '' && (method === 'GET' || method === 'HEAD');
  const other = named.names.find((name) => !isAllowed(models, name));
  const isModelAllowed = isRead || isAllowed(models, model);
  if (isModelAllowed && other === undefined && named.hidden === undefined) return;
  const what = !isModelAllowed
    ? quotedModel(model)
    : other === undefined
      ? `the field "${named.hidden}"`
      : `"${other}"`;
  throw modelForbidden(models, keyId, what, named.hidden ?? 'model');
}

const modelForbidden = (models: readonly string[], keyId: number, what: string, param: string): GwError =>
  new GwError(
    `key ${keyId} may use only ${models.join(', ')}, which rules out ${what}. To see keys: gw keys list`,
    { status: 403, type: 'permission_error', code: 'model_forbidden', param },
  );

/**
 * Refuses a batch of which a request may be for a model that the key may not use: one that names none, or can't be read.
 * Throws GwError 403 `model_forbidden`.
 */
export function checkBatchModels(
  { models, keyId }: Caller,
  { groups, unbounded }: { groups: readonly { model: string }[]; unbounded?: string },
): void {
  if (models === null) return;
  if (unbounded !== undefined)
    throw modelForbidden(models, keyId, `a batch that gw can't read: ${unbounded}`, 'requests');
  const other = groups.find(({ model }) => !isAllowed(models, model));
  if (other) throw modelForbidden(models, keyId, quotedModel(other.model), 'requests');
}

const quotedModel = (model: string): string =>
  model === '' ? 'a request that names no model' : `"${model}"`;

/** An entry allows the model with and without its provider in front; one that ends in `*`, all that begin alike. */
function isAllowed(models: readonly string[], asked: string): boolean {
  const plain = withoutContextSize(asked);
  const names = [asked, plain, plain.slice(plain.indexOf('/') + 1)];
  return models.some((entry) =>
    entry.endsWith('*') ? names.some((name) => name.startsWith(entry.slice(0, -1))) : names.includes(entry),
  );
}

function rateLimited(keyId: number, rpm: number, waitMs: number): GwError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new GwError(
    `key ${keyId} may make ${rpm} ${rpm === 1 ? 'request' : 'requests'} a minute. Try again in ${seconds} s`,
    {
      status: 429,
      type: 'rate_limit_error',
      code: 'key_rate_limited',
      headers: { 'retry-after': String(seconds), 'retry-after-ms': String(Math.ceil(waitMs)) },
    },
  );
}
