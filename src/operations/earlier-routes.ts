/** Endpoints of gw that have been under other paths since before `/v1/gw`. */
export const EARLIER_ROUTES = [
  'GET /v1/usage',
  'GET /v1/requests/{id}',
  'POST /v1/requests/{id}/feedback',
  'GET /v1/budgets',
  'PUT /v1/budgets',
  'DELETE /v1/budgets/{project}/{period}',
  'POST /v1/webhooks',
  'GET /v1/webhooks',
  'GET /v1/webhooks/{id}',
  'PATCH /v1/webhooks/{id}',
  'DELETE /v1/webhooks/{id}',
  'POST /v1/webhooks/{id}/test',
  'POST /v1/webhooks/{id}/rotate',
  'GET /v1/webhooks/{id}/deliveries',
  'GET /v1/deliveries',
  'POST /v1/deliveries/{id}/replay',
] as const;
