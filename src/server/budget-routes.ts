import type { Gateway } from '../gateway/context/gateway.ts';
import type { Db } from '../store/database/open.ts';
import type { ToHandler } from './json-handlers.ts';
import { queryOf, type RouteTable } from './routes.ts';

export interface BudgetRoutesOptions {
  gateway: Pick<Gateway, 'ledger' | 'calendar' | 'clock'>;
  db: Db;
  json: ToHandler;
  /** Applies the change in this process. */
  reload: () => Promise<void>;
}

/** The routes of budgets. */
export function budgetRoutes({ gateway, db, json, reload }: BudgetRoutesOptions): RouteTable {
  // Loaded on first use: its schemas and the library behind them take 8 MB.
  const endpoints = () => import('./budgets-endpoint.ts');
  const context = () => ({
    db,
    ledger: gateway.ledger,
    calendar: gateway.calendar(),
    now: gateway.clock.now(),
  });
  return {
    'GET /v1/budgets': json(async (caller, { request }) =>
      (await endpoints()).listBudgetsEndpoint(caller, queryOf(request.url ?? ''), context()),
    ),
    'PUT /v1/budgets': json(async (caller, { request }) => {
      const body = await (await endpoints()).putBudgetEndpoint(caller, request, context());
      await reload();
      return body;
    }),
    'DELETE /v1/budgets/{project}/{period}': json(async (caller, { request }, parameters) => {
      const names = { ...queryOf(request.url ?? ''), ...parameters };
      const body = await (await endpoints()).deleteBudgetEndpoint(caller, names, context());
      await reload();
      return body;
    }),
  };
}
