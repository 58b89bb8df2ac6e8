import { z } from 'zod';
import { MISS_CAUSES, type MissCause } from '../store/ledger/record.ts';
import { count, usd } from './usage-schemas.ts';

const CAUSES = Object.keys(MISS_CAUSES).filter((cause) => cause !== 'none');

const missed = {
  missed_tokens: count.describe('tokens that the cache had, and that were paid in full or written again'),
  missed_usd: usd.describe('what they cost beyond the price of reading them'),
};

export const CacheReport = z.object({
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
