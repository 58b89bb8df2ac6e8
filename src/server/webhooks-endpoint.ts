import { badRequest } from '../errors.ts';
import type { DeliveryQuery, WebhookService } from '../webhooks/service.ts';
import type { ToHandler } from './json-handlers.ts';
import { readJson } from './read-json.ts';
import { queryOf, type RouteTable } from './routes.ts';

/** The routes of webhooks and their deliveries. */
export function webhookRoutes(json: ToHandler, service: WebhookService): RouteTable {
  return {
    'POST /v1/webhooks': json(
      async (caller, { request }) => service.register(caller, await readJson(request)),
      201,
    ),
    'GET /v1/webhooks': json(async (caller, { request }) => ({
      object: 'list',
      data: await service.list(caller, queryOf(request.url ?? '').project_id),
    })),
    'GET /v1/webhooks/{id}': json((caller, _exchange, { id = '' }) => service.get(caller, id)),
    'PATCH /v1/webhooks/{id}': json(async (caller, { request }, { id = '' }) =>
      service.update(caller, id, await readJson(request)),
    ),
    'DELETE /v1/webhooks/{id}': json(async (caller, _exchange, { id = '' }) => {
      await service.remove(caller, id);
      return { object: 'webhook.deleted', id, deleted: true };
    }),
    'POST /v1/webhooks/{id}/test': json((caller, _exchange, { id = '' }) => service.test(caller, id)),
    'POST /v1/webhooks/{id}/rotate': json((caller, _exchange, { id = '' }) => service.rotate(caller, id)),
    'GET /v1/webhooks/{id}/deliveries': json(async (caller, { request }, { id = '' }) => ({
      object: 'list',
      data: await service.deliveries(caller, { ...deliveryQuery(queryOf(request.url ?? '')), webhook: id }),
    })),
    'GET /v1/deliveries': json(async (caller, { request }) => ({
      object: 'list',
      data: await service.deliveries(caller, deliveryQuery(queryOf(request.url ?? ''))),
    })),
    'POST /v1/deliveries/{id}/replay': json((caller, _exchange, { id = '' }) => service.replay(caller, id)),
  };
}

const STATES = ['pending', 'sending', 'delivered', 'failed'] as const;
const MAX_LISTED = 1_000;

function deliveryQuery(query: Record<string, string>): DeliveryQuery {
  const status = STATES.find((state) => state === query.status);
  if (query.status && !status) {
    throw badRequest(`"status" is "${query.status}": use one of ${STATES.join(', ')}`, 'status');
  }
  const limit = query.limit ? Number(query.limit) : undefined;
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0 && limit <= MAX_LISTED)) {
    throw badRequest(`"limit" is "${query.limit}": use a whole number from 1 to ${MAX_LISTED}`, 'limit');
  }
  const since = query.since ? Date.parse(query.since) : undefined;
  if (since !== undefined && Number.isNaN(since)) {
    throw badRequest(`"since" is "${query.since}": use a time such as 2026-11-01T00:00:00Z`, 'since');
  }
  return {
    ...(query.project_id ? { project: query.project_id } : {}),
    ...(status ? { status } : {}),
    ...(since === undefined ? {} : { since }),
    ...(limit === undefined ? {} : { limit }),
  };
}
