import { z } from 'zod';
import { badRequest } from '../../errors.ts';
import { AskReport } from '../../reading/ask-schema.ts';
import { nanoUsdOf } from '../budgets-endpoint.ts';
import { operation } from './operation.ts';
import { listOf } from './read-operations.ts';

const ANSWERING = ['answering for budgets', 'gw approve ID'] as const;

/** The questions that requests wait with, and their answers. */
export const ASK_OPERATIONS = {
  'GET /v1/gw/asks': operation({
    summary: 'the requests that wait for an answer, the oldest first',
    query: z.strictObject({ project_id: z.string().optional().describe('only this project') }),
    response: listOf(AskReport),
    run: async ({ reader, query: { project_id: project } }) => ({
      object: 'list' as const,
      data: await reader.asks({ project }),
    }),
  }),
  'POST /v1/gw/asks/{id}/approve': operation({
    summary: 'let a request that waits go on: this once, or by a raise of its budget',
    admin: ANSWERING,
    body: z.strictObject({
      once: z.boolean().optional().describe('the default: the budget stays as it is'),
      raise_usd: z.number().optional().describe('is added to the cap of the budget'),
    }),
    response: AskReport,
    async run({ admin, parameters: { id = '' }, body: { once, raise_usd } }) {
      if (once === true && raise_usd !== undefined)
        throw badRequest('give "once" or "raise_usd", not both', 'once');
      const raiseNanoUsd = raise_usd === undefined ? undefined : nanoUsdOf(raise_usd, 'raise_usd');
      return (await admin()).approveAsk({ id, raiseNanoUsd });
    },
  }),
  'POST /v1/gw/asks/{id}/deny': operation({
    summary: 'refuse a request that waits',
    admin: ANSWERING,
    response: AskReport,
    run: async ({ admin, parameters: { id = '' } }) => (await admin()).denyAsk(id),
  }),
};
