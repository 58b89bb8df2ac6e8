import { z } from 'zod';
import { MISS_CAUSES, type MissCause } from '../../store/ledger/record.ts';
import { describe } from '../operation.ts';
import { count, only_project, page_size, timeParameter, usd } from './fields.ts';

const CAUSES = Object.keys(MISS_CAUSES).filter((cause) => cause !== 'none');

const missed = {
  missed_tokens: count.describe('tokens that the cache had, and that were paid in full or written again'),
  missed_usd: usd.describe('what they cost beyond the price of reading them'),
};

const CacheReport = z.object({
  object: z.literal('cache_report'),
  data: z.array(
    z.object({
      session_id: z.string().nullable(),
      agent: z.string().nullable(),
      request_id: z.string(),
      ...missed,
      cause: z.enum(CAUSES as [Exclude<MissCause, 'none'>]),
      field: z.string().nullable().describe('the first place that differs, such as system[1].text'),
      message_index: z.number().int().nullable(),
      offset: z
        .number()
        .int()
        .nullable()
        .describe("UTF-16 units into the field; null if the last prompt's text was no longer in memory"),
    }),
  ),
  total: z.object({ requests: count, ...missed }).describe('of all misses, listed or not'),
});

export type CacheView = z.infer<typeof CacheReport>;

export const cache = describe({
  summary: "what the providers' caches could have served and didn't, the newest first, and why",
  query: z.strictObject({
    project_id: only_project,
    session: z.string().optional().describe("the agent's own id of a session"),
    since: timeParameter.optional().describe('only requests since then'),
    limit: page_size.default(200),
  }),
  response: CacheReport,
});
