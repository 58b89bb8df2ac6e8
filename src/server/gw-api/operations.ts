import { z } from 'zod';
import { ASK_OPERATIONS } from './ask-operations.ts';
import { BACKTEST_OPERATIONS } from './backtest-operations.ts';
import { CHANGE_OPERATIONS } from './change-operations.ts';
import { EARLIER_OPERATIONS } from './earlier-operations.ts';
import { openApiDocument } from './openapi.ts';
import { type Operation, operation } from './operation.ts';
import { READ_OPERATIONS } from './read-operations.ts';
import type { GwRoute } from './route-list.ts';

/** The operations behind gw's own endpoints. */
export const OPERATIONS: Record<GwRoute, Operation> = {
  ...READ_OPERATIONS,
  ...BACKTEST_OPERATIONS,
  ...CHANGE_OPERATIONS,
  ...ASK_OPERATIONS,
  'GET /v1/gw/openapi.json': operation({
    summary: 'this document',
    response: z.record(z.string(), z.unknown()),
    run: async () => openApiDocument({ ...OPERATIONS, ...EARLIER_OPERATIONS }),
  }),
};
