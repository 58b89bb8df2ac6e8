import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { complete } from '../gateway/complete.ts';
import { type Exchange, openExchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { ClientGone } from '../gateway/intake/client-gone.ts';
import { passThrough } from '../gateway/pass-through/pass-through.ts';
import type { ModelLists } from '../providers/model-lists.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { Db } from '../store/database/open.ts';
import type { WebhookService } from '../webhooks/service.ts';
import { chatWire } from '../wire/apis/chat.ts';
import { completionsWire } from '../wire/apis/completions.ts';
import { embeddingsWire } from '../wire/apis/embeddings.ts';
import { messagesWire } from '../wire/apis/messages.ts';
import { compactWire, responsesWire } from '../wire/apis/responses.ts';
import type { Wire } from '../wire/wire.ts';
import { speaksAnthropic } from './anthropic-error.ts';
import { feedbackEndpoint } from './feedback-endpoint.ts';
import { createGuard } from './guard.ts';
import { getModel, listModels } from './models-endpoint.ts';
import { requestEndpoint } from './request-endpoint.ts';
import { respondError, respondJson, respondUnreadable } from './respond.ts';
import { createRouter, queryOf, type RouteTable } from './routes.ts';
import { usageEndpoint } from './usage-endpoint.ts';
import { webhookRoutes } from './webhooks-endpoint.ts';

export interface ApiOptions {
  gateway: Gateway;
  db: Db;
  lists: ModelLists;
  webhooks: WebhookService;
  /** The host that gw listens on, as it was configured. */
  boundTo: string;
  /** Looks for changed settings, keys, budgets and prices; called before each request. */
  refresh: () => void | Promise<void>;
  /** Reads all anew; `refresh` notices what other processes change, not what this one does. */
  reload: () => Promise<void>;
  health: () => Record<string, unknown>;
  /** Told of errors that are gw's own fault. */
  onInternalError: (error: unknown, request: IncomingMessage) => void;
}

export interface Api {
  /** Takes a request from node:http, answers it, and throws nothing. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers what is no HTTP request. */
  onUnreadable: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** Resolves when no request is being worked on: answered, recorded and all. */
  whenIdle(): Promise<void>;
}

/** The HTTP interface. */
export function createApi(options: ApiOptions): Api {
  const { gateway, onInternalError } = options;
  const guard = createGuard(options.boundTo);
  const router = createRouter(routesOf(options), (exchange) => passThrough(gateway, exchange));

  let active = 0;
  let idle: (() => void) | undefined;

  async function answer(exchange: Exchange): Promise<void> {
    const { request, response, id } = exchange;
    active++;
    try {
      guard(request);
      const refreshing = options.refresh();
      if (refreshing) await refreshing;
      const { handler, parameters } = router.find(request);
      await handler(exchange, parameters);
    } catch (error) {
      if (error instanceof ClientGone) response.destroy();
      else {
        respondError(response, error, id, {
          onInternalError: (fault) => onInternalError(fault, request),
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
      void answer(openExchange(gateway.nextId(), request, response, gateway.clock.monotonic()));
    },
    onUnreadable: (error, socket) => respondUnreadable(socket, error, gateway.nextId()),
    whenIdle: () =>
      new Promise((resolve) => {
        if (active === 0) resolve();
        else idle = resolve;
      }),
  };
}

function routesOf({ gateway, db, lists, webhooks, health, reload }: ApiOptions): RouteTable {
  const completion = (wire: Wire) => (exchange: Exchange) => complete(gateway, wire, exchange);
  /** An endpoint that answers with JSON to a caller with a key. */
  const json =
    (
      answer: (
        caller: Caller,
        exchange: Exchange,
        parameters: Readonly<Record<string, string>>,
      ) => Promise<unknown>,
    ) =>
    async (exchange: Exchange, parameters: Readonly<Record<string, string>>) => {
      const caller = gateway.authenticator.authenticate(exchange.request.headers);
      respondJson(exchange.response, 200, await answer(caller, exchange, parameters), { id: exchange.id });
    };

  const feedback = feedbackEndpoint(db, gateway);
  const models = () => ({ lists, catalog: gateway.catalog() });
  const budgets = () => ({
    db,
    ledger: gateway.ledger,
    calendar: gateway.calendar(),
    now: gateway.clock.now(),
  });
  // Loaded when it is first needed: its schemas hold 8 MB with all that they stand on.
  const budgetsEndpoint = () => import('./budgets-endpoint.ts');
  /** With the change in force. */
  const inForce = async <T>(change: Promise<T>): Promise<T> => {
    const changed = await change;
    await reload();
    return changed;
  };

  return {
    'POST /v1/complete': completion(chatWire),
    'POST /v1/chat/completions': completion(chatWire),
    'POST /v1/completions': completion(completionsWire),
    'POST /v1/embeddings': completion(embeddingsWire),
    'POST /v1/responses': completion(responsesWire),
    'POST /v1/responses/compact': completion(compactWire),
    'POST /v1/messages': completion(messagesWire),
    'GET /v1/usage': json((caller, { request }) =>
      usageEndpoint(caller, queryOf(request.url ?? ''), {
        db,
        calendar: gateway.calendar(),
        now: gateway.clock.now(),
        findProject: gateway.findProject,
      }),
    ),
    'GET /v1/budgets': json(async (caller, { request }) =>
      (await budgetsEndpoint()).listBudgetsEndpoint(caller, queryOf(request.url ?? ''), budgets()),
    ),
    'PUT /v1/budgets': json(async (caller, { request }) =>
      inForce((await budgetsEndpoint()).putBudgetEndpoint(caller, request, budgets())),
    ),
    'DELETE /v1/budgets/{project}/{period}': json(async (caller, { request }, parameters) =>
      inForce(
        (await budgetsEndpoint()).deleteBudgetEndpoint(
          caller,
          { ...queryOf(request.url ?? ''), ...parameters },
          budgets(),
        ),
      ),
    ),
    'GET /v1/models': json((_caller, { request }) =>
      listModels(models(), speaksAnthropic(request), queryOf(request.url ?? '')),
    ),
    'GET /v1/models/{id}': json((_caller, { request }, { id = '' }) =>
      getModel(models(), id, speaksAnthropic(request)),
    ),
    'GET /v1/models/{provider}/{id}': json((_caller, { request }, { provider, id }) =>
      getModel(models(), `${provider}/${id}`, speaksAnthropic(request)),
    ),
    'GET /v1/models/{provider}/{vendor}/{id}': json((_caller, { request }, { provider, vendor, id }) =>
      getModel(models(), `${provider}/${vendor}/${id}`, speaksAnthropic(request)),
    ),
    // A tuned model is its provider's to delete.
    'DELETE /v1/models/{id}': (exchange) => passThrough(gateway, exchange),
    ...webhookRoutes(gateway, webhooks),
    'GET /v1/requests/{id}': json((caller, _exchange, { id = '' }) => requestEndpoint(caller, id, db)),
    'POST /v1/requests/{id}/feedback': json((caller, { request }, { id = '' }) =>
      feedback(caller, id, request),
    ),
    'GET /health': async ({ response, id }) => respondJson(response, 200, health(), { id }),
  };
}
