import { badRequest } from '../errors.ts';
import type { Exchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { DeliveryQuery, WebhookService } from '../webhooks/service.ts';
import { readJson } from './read-json.ts';
import { respondJson } from './respond.ts';
import { type Handler, queryOf, type RouteTable } from './routes.ts';

/** The routes of webhooks and their deliveries. */
export function webhookRoutes(gateway: Gateway, service: WebhookService): RouteTable {
  type Answer = (caller: Caller, exchange: Exchange, id: string) => Promise<unknown>;
  const route =
    (status: number, answer: Answer): Handler =>
    async (exchange, { id = '' }) => {
      const caller = gateway.authenticator.authenticate(exchange.request.headers);
      const body = await answer(caller, exchange, id);
      respondJson(exchange.response, status, body, { id: exchange.id });
    };

  return {
    'POST /v1/webhooks': route(201, async (caller, { request }) =>
      service.register(caller, await readJson(request)),
    ),
    'GET /v1/webhooks': route(200, async (caller, { request }) => ({
      object: 'list',
      data: await service.list(caller, queryOf(request.url ?? '').project_id),
    })),
    'GET /v1/webhooks/{id}': route(200, (caller, _exchange, id) => service.get(caller, id)),
    'PATCH /v1/webhooks/{id}': route(200, async (caller, { request }, id) =>
      service.update(caller, id, await readJson(request)),
    ),
    'DELETE /v1/webhooks/{id}': route(200, async (caller, _exchange, id) => {
      await service.remove(caller, id);
      return { object: 'webhook.deleted', id, deleted: true };
    }),
    'POST /v1/webhooks/{id}/test': route(200, (caller, _exchange, id) => service.test(caller, id)),
    'POST /v1/webhooks/{id}/rotate': route(200, (caller, _exchange, id) => service.rotate(caller, id)),
    'GET /v1/webhooks/{id}/deliveries': route(200, async (caller, { request }, id) => ({
      object: 'list',
      data: await service.deliveries(caller, { ...deliveryQuery(queryOf(request.url ?? '')), webhook: id }),
    })),
    'GET /v1/deliveries': route(200, async (caller, { request }) => ({
      object: 'list',
      data: await service.deliveries(caller, deliveryQuery(queryOf(request.url ?? ''))),
    })),
    'POST /v1/deliveries/{id}/replay': route(200, (caller, _exchange, id) => service.replay(caller, id)),
  };
}

const STATES = ['pending', 'sending', 'delivered', 'failed'] as const;
const MAX_LISTED = 1_000;

function deliveryQuery(query: Record<string, string>): DeliveryQuery {
  const status = STATES.find((state) => state === query.status);
  if (query.status && !status) throw badRequest(`"status" is none of ${STATES.join(', ')}`, 'status');
  const limit = query.limit ? Number(query.limit) : undefined;
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0 && limit <= MAX_LISTED)) {
    throw badRequest(`"limit" must be a whole number from 1 to ${MAX_LISTED}`, 'limit');
  }
  return {
    ...(query.project_id ? { project: query.project_id } : {}),
    ...(status ? { status } : {}),
    ...(limit === undefined ? {} : { limit }),
  };
}
