import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { badRequest, GwError, notFound } from '../errors.ts';
import { complete } from '../gateway/complete.ts';
import { ClientGone, type Exchange, openExchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { clientTrace } from '../gateway/intake/client-trace.ts';
import { passThrough } from '../gateway/pass-through/pass-through.ts';
import { formatRequestId, parseRequestId } from '../ids.ts';
import { isObject } from '../json/object.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ModelLists } from '../providers/model-lists.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { Db } from '../store/database/open.ts';
import { createFeedbackStore } from '../store/requests/feedback.ts';
import { getRequest, type LoggedRequest, requestResponse } from '../store/requests/request-log.ts';
import { chatWire } from '../wire/apis/chat.ts';
import { completionsWire } from '../wire/apis/completions.ts';
import { embeddingsWire } from '../wire/apis/embeddings.ts';
import { messagesWire } from '../wire/apis/messages.ts';
import { compactWire, responsesWire } from '../wire/apis/responses.ts';
import type { Wire } from '../wire/wire.ts';
import { mustBeAdmin } from './caller-rights.ts';
import { cloudRoutes } from './cloud-routes.ts';
import { geminiRoutes } from './gemini-endpoint.ts';
import { answerCors, createGuard, type GuardOptions } from './guard.ts';
import { createGwApi, withoutIntegers } from './gw-api/gw-routes.ts';
import type { SourceOptions } from './gw-api/sources-of.ts';
import { createJsonHandlers, type JsonEndpoint, readJson } from './json-handlers.ts';
import { modelRoutes } from './models-endpoint.ts';
import { pageRoutes } from './page/page-routes.ts';
import { createPageSessions } from './page/sessions.ts';
import { errorBody, respondError, respondJson, respondUnreadable } from './respond.ts';
import { createRouter, type Handler, type RouteTable } from './routes.ts';
import { deliveryRoutes } from './webhooks-endpoint.ts';

export interface ApiOptions extends SourceOptions {
  gateway: Gateway;
  lists: ModelLists;
  guard: GuardOptions;
  /** Whether a request's span belongs to its client's. */
  joinsTraces: boolean;
  /** Picks up changed settings, keys, budgets and prices; called before each request. */
  refresh: () => void | Promise<void>;
  /** The body of `GET /health`, and what callers with a key see of it besides. */
  health: () => { open: object; closed: object };
  /** Why requests are refused until a restart; undefined normally. */
  fault: () => GwError | undefined;
  /** Called with each error that is a fault of gw. */
  onInternalError: (error: unknown, request: IncomingMessage) => void;
}

export interface Api {
  /** Answers a request from node:http; never throws. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers bytes that are not an HTTP request. */
  onUnreadable: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** Resolves when no request is being processed: each is answered and recorded. */
  whenIdle(): Promise<void>;
}

/** The HTTP interface. */
export function createApi(options: ApiOptions): Api {
  const { gateway, onInternalError } = options;
  const guard = createGuard(options.guard);
  const router = createRouter(routesOf(options), (exchange) => passThrough(gateway, exchange));

  let active = 0;
  let idle: (() => void) | undefined;

  async function answer(exchange: Exchange): Promise<void> {
    const { request, response, id } = exchange;
    active++;
    try {
      // First, as the guard goes by a setting that may have changed.
      const fault = options.fault();
      const refreshing = fault ? undefined : options.refresh();
      if (refreshing) await refreshing;
      guard(request);
      if (answerCors(request, response, options.guard.allowedOrigins())) return;
      if (fault && request.url !== '/health') throw fault;
      refuseWebSocket(request);
      const { handler, parameters } = router.find(request.method ?? '', exchange.target.path);
      await handler(exchange, parameters);
    } catch (error) {
      if (error instanceof ClientGone) response.destroy();
      else {
        respondError(response, error, id, {
          onInternalError: (cause) => onInternalError(cause, request),
          pasteable: gateway.pasteable,
        });
      }
    } finally {
      active--;
      if (active === 0) idle?.();
    }
  }

  return {
    onRequest(request, response) {
      const exchange = openExchange(gateway.nextId(), request, response, gateway.clock.monotonic());
      if (options.joinsTraces) exchange.trace = clientTrace(request.headers);
      void answer(exchange);
    },
    onUnreadable: (error, socket) => respondUnreadable(socket, error, gateway.nextId()),
    whenIdle: () =>
      new Promise((resolve) => {
        if (active === 0) resolve();
        else idle = resolve;
      }),
  };
}

/** All routes. */
export function routesOf(options: ApiOptions): RouteTable {
  const { gateway, db, lists, webhooks, health } = options;
  const completion = (wire: Wire) => (exchange: Exchange) => complete(gateway, wire, exchange);
  const sessions = createPageSessions({
    now: () => gateway.clock.now(),
    random: options.random,
    isEnabled: () => gateway.settings()['page.enabled'] === 'on',
  });
  const json = createJsonHandlers(gateway, sessions);
  const gw = createGwApi(json, options);
  return {
    'POST /v1/complete': completion(chatWire),
    'POST /v1/chat/completions': completion(chatWire),
    'POST /v1/completions': completion(completionsWire),
    'POST /v1/embeddings': completion(embeddingsWire),
    'POST /v1/responses': completion(responsesWire),
    'POST /v1/responses/compact': completion(compactWire),
    'POST /v1/messages': completion(messagesWire),
    // Vertex AI's rawPredict is more specific than its Gemini.
    ...cloudRoutes(gateway),
    ...geminiRoutes(gateway),
    ...modelRoutes(json, () => ({
      lists,
      catalog: gateway.catalog(),
      aliases: gateway.settings().aliases,
      find: gateway.resolver.find,
    })),
    // A tuned model belongs to its provider, which deletes it.
    'DELETE /v1/models/{id}': (exchange) => passThrough(gateway, exchange),
    ...deliveryRoutes(json, webhooks),
    ...gw.routes,
    'GET /v1/requests/{id}': json(async (caller, _exchange, { id = '' }) =>
      withoutIntegers(requestResponse(await ownRequest(caller, id, db))),
    ),
    'POST /v1/requests/{id}/feedback': json(feedbackEndpoint(options)),
    'GET /metrics': metricsEndpoint(options),
    ...pageRoutes({ gateway, sessions, warm: gw.warm }),
    // Clients ask without a key whether somebody is there.
    'HEAD /': hello,
    'GET /api/hello': hello,
    'GET /health': async ({ request, response, id }) => {
      const { open, closed } = health();
      const fault = options.fault();
      if (fault) {
        // Supervisors restart what is unhealthy, which is the cure.
        respondJson(response, fault.status, { ...open, status: fault.code, ...errorBody(fault) }, { id });
        return;
      }
      const isKnown = gateway.authenticator.recognize(request.headers) !== undefined;
      respondJson(response, 200, isKnown ? { ...open, ...closed } : open, { id });
    },
  };
}

const hello: Handler = async ({ response, id }) => respondJson(response, 200, { message: 'hello' }, { id });

/**
 * Refuses a WebSocket at any path with a 426: gw meters HTTP only. Codex opens one first; after a 426 it sends the same
 * request over HTTP at once, after any other status it retries for seconds. Other protocols, such as `h2c`, are offers
 * that a server may ignore: https://www.rfc-editor.org/rfc/rfc9110#section-7.8
 */
function refuseWebSocket({ headers: { upgrade } }: IncomingMessage): void {
  if (upgrade === undefined || !/\bwebsocket\b/i.test(upgrade)) return;
  throw new GwError('gw has no WebSocket endpoints: send the request over HTTP, as POST /v1/responses', {
    status: 426,
    type: 'invalid_request_error',
    code: 'websocket_unsupported',
    headers: { upgrade: 'HTTP/1.1', connection: 'upgrade' },
  });
}

/** `POST /v1/requests/{id}/feedback`: rates an answer, on its record. Throws GwError 400 and 404. */
function feedbackEndpoint({ db, gateway }: Pick<ApiOptions, 'db' | 'gateway'>): JsonEndpoint {
  const store = createFeedbackStore(db);
  return async (caller, { request }, { id = '' }) => {
    const score = parseScore(await readJson(request));
    const rated = await ownRequest(caller, id, db);
    await gateway.ledger.write(() => store(rated.id, score));
    // gw 0.2.0 learnt from ratings; its clients may read the field.
    return { object: 'feedback', request_id: id, score, learnt: false, because: 'no_learner' };
  };
}

/** A request that the caller may see. Throws GwError 404. */
async function ownRequest(caller: Caller, id: string, db: Db): Promise<LoggedRequest> {
  const requestId = parseRequestId(id);
  const request = requestId === undefined ? undefined : await getRequest(db, requestId);
  if (!request || (request.project !== caller.project && !caller.admin)) {
    throw notFound(`no request "${id}". See: gw requests`, 'request_not_found', 'id');
  }
  return request;
}

/** The score in `{"score": 0.7}` or `{"good": true}`. */
function parseScore(body: unknown): number {
  const fields = isObject(body) ? body : {};
  const unknown = Object.keys(fields).find((key) => key !== 'score' && key !== 'good');
  if (unknown !== undefined) {
    throw badRequest(`unknown field "${unknown}": use score or good`, unknown, 'unknown_parameter');
  }
  const { score, good } = fields;
  if (score !== undefined && good !== undefined)
    throw badRequest('both "score" and "good" are set: use one of them', 'score');
  if (typeof good === 'boolean') return good ? 1 : 0;
  if (typeof score === 'number' && score >= 0 && score <= 1) return score;
  throw badRequest(
    'the body has no valid rating: use {"score": 0.7}, from 0 to 1, or {"good": true}',
    good === undefined ? 'score' : 'good',
  );
}

/** `GET /metrics`. What it is made of is loaded, and begins to count, at the first scrape. */
function metricsEndpoint({ gateway, pollDb }: Pick<ApiOptions, 'gateway' | 'pollDb'>): Handler {
  let metrics: Promise<Metrics> | undefined;

  async function create(): Promise<Metrics> {
    const { createMetrics } = await import('../metrics/metrics.ts');
    const { ledger, clock, calendar, router } = gateway;
    const health = () => router.health.snapshot();
    return createMetrics({ db: await pollDb(), ledger, clock, calendar, health });
  }

  return async ({ request, response, id }) => {
    const caller = gateway.authenticator.authenticate(request.headers);
    mustBeAdmin(caller, 'reading metrics', 'gw usage');
    metrics ??= create();
    const { contentType, body } = await (await metrics).page(request.headers.accept);
    if (response.destroyed) return;
    response.writeHead(200, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'x-service-request-id': formatRequestId(id),
    });
    response.end(body);
  };
}
