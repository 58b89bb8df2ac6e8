import type { Description } from './operation.ts';
import type { Polling } from './reader.ts';

/** Modules of an entity: its functions, and the schemas that describe them. Named alike, and loaded on first use. */
const KEYS = { run: () => import('./run/keys.ts'), describe: () => import('./schemas/keys.ts') };
const WEBHOOKS = { run: () => import('./run/webhooks.ts'), describe: () => import('./schemas/webhooks.ts') };
const BUDGETS = { run: () => import('./run/budgets.ts'), describe: () => import('./schemas/budgets.ts') };
const ASKS = { run: () => import('./run/asks.ts'), describe: () => import('./schemas/asks.ts') };
const BACKTEST = { run: () => import('./run/backtest.ts'), describe: () => import('./schemas/backtest.ts') };
const PROJECTS = { run: () => import('./run/projects.ts'), describe: () => import('./schemas/projects.ts') };
const PRICES = { run: () => import('./run/prices.ts'), describe: () => import('./schemas/prices.ts') };
const USAGE = { run: () => import('./run/usage.ts'), describe: () => import('./schemas/usage.ts') };
const SESSIONS = { run: () => import('./run/sessions.ts'), describe: () => import('./schemas/usage.ts') };
const LIMITS = { run: () => import('./run/limits.ts'), describe: () => import('./schemas/limits.ts') };
const CACHE = { run: () => import('./run/cache.ts'), describe: () => import('./schemas/cache.ts') };
const REQUESTS = { run: () => import('./run/requests.ts'), describe: () => import('./schemas/requests.ts') };
const BODIES = { run: () => import('./run/bodies.ts'), describe: () => import('./schemas/bodies.ts') };
const CALLS = { run: () => import('./run/calls.ts'), describe: () => import('./schemas/calls.ts') };
const STATUS = { run: () => import('./run/status.ts'), describe: () => import('./schemas/status.ts') };
const POLLS = { run: () => import('./run/polls.ts'), describe: () => import('./schemas/dashboard.ts') };
const OPENAPI = {
  /** It describes this table, and is given what it needs of it. */
  run: async (): Promise<{ openapi: () => Promise<Record<string, unknown>> }> => {
    const { openapi } = await import('./run/openapi.ts');
    const routes = [...GW_ROUTES, ...EARLIER_ROUTES];
    return { openapi: async () => openapi({ routes, described: await descriptions(), statusOf }) };
  },
  describe: () => import('./schemas/status.ts'),
};
const TEAM = { run: () => import('./run/team.ts'), describe: () => import('./schemas/team.ts') };

/**
 * What commands, the dashboard and the HTTP API read and change: route, modules, and the status of a success unless it
 * is 200.
 */
export const OPERATIONS = {
  whoami: ['GET /v1/gw/whoami', POLLS],
  openapi: ['GET /v1/gw/openapi.json', OPENAPI],
  usage: ['GET /v1/gw/usage', USAGE],
  usageTrends: ['GET /v1/gw/usage/trends', USAGE],
  cache: ['GET /v1/gw/cache', CACHE],
  limits: ['GET /v1/gw/limits', LIMITS],
  limitUsage: ['GET /v1/gw/limits/usage', LIMITS],
  sessions: ['GET /v1/gw/sessions', SESSIONS],
  session: ['GET /v1/gw/sessions/{id}', SESSIONS],
  resumeSession: ['POST /v1/gw/sessions/{id}/resume', SESSIONS],
  requestPage: ['GET /v1/gw/requests', REQUESTS],
  deleteRecords: ['DELETE /v1/gw/requests', REQUESTS],
  request: ['GET /v1/gw/requests/{id}', REQUESTS],
  requestBodies: ['GET /v1/gw/requests/{id}/bodies', BODIES],
  clearReplays: ['DELETE /v1/gw/replays', BODIES],
  tail: ['GET /v1/gw/tail', POLLS],
  calls: ['GET /v1/gw/calls', CALLS],
  budgets: ['GET /v1/gw/budgets', BUDGETS],
  backtest: ['GET /v1/gw/budgets/backtest', BACKTEST],
  suggestBudget: ['GET /v1/gw/budgets/suggest', BACKTEST],
  asks: ['GET /v1/gw/asks', ASKS],
  approveAsk: ['POST /v1/gw/asks/{id}/approve', ASKS],
  denyAsk: ['POST /v1/gw/asks/{id}/deny', ASKS],
  setBudget: ['PUT /v1/gw/budgets', BUDGETS],
  raiseBudget: ['POST /v1/gw/budgets/raise', BUDGETS],
  removeBudget: ['DELETE /v1/gw/budgets/{project}/{period}', BUDGETS],
  keys: ['GET /v1/gw/keys', KEYS],
  createKey: ['POST /v1/gw/keys', KEYS, 201],
  rotateKey: ['POST /v1/gw/keys/{id}/rotate', KEYS],
  revokeKey: ['DELETE /v1/gw/keys/{id}', KEYS],
  projects: ['GET /v1/gw/projects', PROJECTS],
  addProject: ['POST /v1/gw/projects', PROJECTS, 201],
  pauseAll: ['PATCH /v1/gw/projects', PROJECTS],
  changeProject: ['PATCH /v1/gw/projects/{project}', PROJECTS],
  removeProject: ['DELETE /v1/gw/projects/{project}', PROJECTS],
  prices: ['GET /v1/gw/prices', PRICES],
  setPrice: ['PUT /v1/gw/prices', PRICES],
  removePrice: ['DELETE /v1/gw/prices', PRICES],
  pricesInForce: ['GET /v1/gw/prices/in-force', PRICES],
  providers: ['GET /v1/gw/providers', STATUS],
  status: ['GET /v1/gw/status', STATUS],
  team: ['GET /v1/gw/team', TEAM],
  teamUsage: ['GET /v1/gw/team/usage', TEAM],
  distrustedBounds: ['GET /v1/gw/bounds', STATUS],
  deliveries: ['GET /v1/gw/deliveries', WEBHOOKS],
  replayFailed: ['POST /v1/gw/deliveries/replay-failed', WEBHOOKS],
  dashboardView: ['GET /v1/gw/dashboard', POLLS],
  addWebhook: ['POST /v1/webhooks', WEBHOOKS, 201],
  webhooks: ['GET /v1/webhooks', WEBHOOKS],
  webhook: ['GET /v1/webhooks/{id}', WEBHOOKS],
  changeWebhook: ['PATCH /v1/webhooks/{id}', WEBHOOKS],
  removeWebhook: ['DELETE /v1/webhooks/{id}', WEBHOOKS],
  testWebhook: ['POST /v1/webhooks/{id}/test', WEBHOOKS],
  rotateWebhook: ['POST /v1/webhooks/{id}/rotate', WEBHOOKS],
  replayDelivery: ['POST /v1/deliveries/{id}/replay', WEBHOOKS],
} as const;

export type Name = keyof typeof OPERATIONS;

type Functions<Each extends Name> = Awaited<ReturnType<(typeof OPERATIONS)[Each][1]['run']>>;
type Run<Each extends Name> = Functions<Each>[Each & keyof Functions<Each>];

/** The operations of a gw, on this machine's database or through the HTTP API of another. They throw GwError. */
export type Operations = {
  [Each in Name]: Run<Each> extends (sources: never, ...input: infer Fields) => infer Answer
    ? (...input: Fields) => Promise<Awaited<Answer>>
    : never;
};

/** A gw: its operations, and what is read in pages or polled. */
export type Reader = Operations & Polling;

/** An operation as its carriers call it. */
export type AnyRun<Sources> = (sources: Sources, input: object) => Promise<unknown>;

/** Loads zod. */
export async function describedBy(name: Name): Promise<Description> {
  const described: Record<string, unknown> = await OPERATIONS[name][1].describe();
  return described[name] as Description;
}

/** The descriptions by route. */
async function descriptions(): Promise<Record<string, Description>> {
  const all = Object.entries(OPERATIONS).map(async ([name, [route]]) => [
    route,
    await describedBy(name as Name),
  ]);
  return Object.fromEntries(await Promise.all(all));
}

export const ROUTES: ReadonlyMap<string, Name> = new Map(
  (Object.keys(OPERATIONS) as Name[]).map((name) => [OPERATIONS[name][0], name]),
);

export const GW_ROUTES = [...ROUTES.keys()].filter((route) => route.includes(' /v1/gw/'));

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

/** The status of a success. */
export function statusOf(route: string): number {
  const name = ROUTES.get(route);
  return (name && OPERATIONS[name][2]) ?? 200;
}
