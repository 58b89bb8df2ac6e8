/**
 * gw's own endpoints, with the status of a success. Apart from the operations behind them, whose schemas and the library
 * behind those take 8 MB and load on first use.
 */
export const GW_ROUTES = {
  'GET /v1/gw/whoami': 200,
  'GET /v1/gw/openapi.json': 200,
  'GET /v1/gw/usage': 200,
  'GET /v1/gw/usage/trends': 200,
  'GET /v1/gw/cache': 200,
  'GET /v1/gw/sessions': 200,
  'GET /v1/gw/sessions/{id}': 200,
  'GET /v1/gw/requests': 200,
  'DELETE /v1/gw/requests': 200,
  'GET /v1/gw/requests/{id}': 200,
  'GET /v1/gw/requests/{id}/bodies': 200,
  'GET /v1/gw/tail': 200,
  'GET /v1/gw/calls': 200,
  'GET /v1/gw/budgets': 200,
  'GET /v1/gw/budgets/backtest': 200,
  'GET /v1/gw/budgets/suggest': 200,
  'GET /v1/gw/asks': 200,
  'POST /v1/gw/asks/{id}/approve': 200,
  'POST /v1/gw/asks/{id}/deny': 200,
  'PUT /v1/gw/budgets': 200,
  'POST /v1/gw/budgets/raise': 200,
  'DELETE /v1/gw/budgets/{project}/{period}': 200,
  'GET /v1/gw/keys': 200,
  'POST /v1/gw/keys': 201,
  'POST /v1/gw/keys/{id}/rotate': 200,
  'DELETE /v1/gw/keys/{id}': 200,
  'GET /v1/gw/projects': 200,
  'POST /v1/gw/projects': 201,
  'PATCH /v1/gw/projects': 200,
  'PATCH /v1/gw/projects/{project}': 200,
  'DELETE /v1/gw/projects/{project}': 200,
  'GET /v1/gw/prices': 200,
  'PUT /v1/gw/prices': 200,
  'DELETE /v1/gw/prices': 200,
  'GET /v1/gw/prices/in-force': 200,
  'GET /v1/gw/providers': 200,
  'GET /v1/gw/status': 200,
  'GET /v1/gw/team': 200,
  'GET /v1/gw/team/usage': 200,
  'GET /v1/gw/bounds': 200,
  'GET /v1/gw/deliveries': 200,
  'POST /v1/gw/deliveries/replay-failed': 200,
  'GET /v1/gw/dashboard': 200,
} as const;

export type GwRoute = keyof typeof GW_ROUTES;

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

export type EarlierRoute = (typeof EARLIER_ROUTES)[number];
