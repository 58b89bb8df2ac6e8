import { badRequest } from '../errors.ts';
import type { DeliveryQuery, WebhookService } from '../webhooks/service.ts';
import type { ToHandler } from './json-handlers.ts';
import { queryOf, type RouteTable } from './routes.ts';

/** The older lists of deliveries, which take more spellings than `/v1/gw/deliveries`. */
export function deliveryRoutes(json: ToHandler, service: WebhookService): RouteTable {
  return {
    'GET /v1/webhooks/{id}/deliveries': json(async (caller, { request }, { id = '' }) => ({
      object: 'list',
      data: await service.deliveries(caller, { ...deliveryQuery(queryOf(request.url ?? '')), webhook: id }),
    })),
    'GET /v1/deliveries': json(async (caller, { request }) => ({
      object: 'list',
      data: await service.deliveries(caller, deliveryQuery(queryOf(request.url ?? ''))),
    })),
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
