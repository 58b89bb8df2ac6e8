import { z } from 'zod';
import { describe } from '../operation.ts';
import { count, listOf, time, timeParameter, usd } from './fields.ts';

/** Windows are of the owner's accounts, not of a project. */
const OWNER = ['the windows of subscriptions', 'gw limits'] as const;

export const LimitWindow = z.object({
  object: z.literal('limit_window'),
  login: z.string().describe('a hash of the account'),
  service: z.enum(['anthropic', 'chatgpt']),
  window: z.string().describe('its length, such as 5h or 7d'),
  model: z.string().nullable().describe('the models that it is for; null: all'),
  used: z.number().min(0).max(1).describe('as the provider said last; 0 once it has reset'),
  resets_at: time.nullable().describe('null once it has reset: the next window begins with a request'),
  status: z.string().describe("the provider's word for it, such as allowed or rejected; reset once it has"),
  full_at: time
    .nullable()
    .describe('when it is full at the pace of the last hour; null if not before its reset'),
  updated_at: time,
  last_hour: z.array(z.number().nullable()).describe('what was used at each twelfth of the last hour'),
});

export type LimitWindowView = z.infer<typeof LimitWindow>;

export const limits = describe({
  summary: 'the windows of the subscriptions whose logins go through gw',
  admin: OWNER,
  response: listOf(LimitWindow),
});

const share = z.number().describe('of a window; 1 is all of one, and more than 1 is more than one window');

const LimitUsage = z.object({
  object: z.literal('limit_usage'),
  data: z.array(
    z.object({
      key: z.string().nullable(),
      share_5h: share,
      share_7d: share,
      requests: count,
      input_tokens: count,
      output_tokens: count,
      list_usd: usd.describe('at list price; a plan bills none of it'),
    }),
  ),
  outside: z
    .object({ share_5h: share, share_7d: share })
    .describe(
      'what windows rose by beyond the requests; with the data it sums to what the provider reported',
    ),
  error: z
    .object({ share_5h: z.number().nullable(), share_7d: z.number().nullable() })
    .describe(
      'what the fit misses in a tenth of a window, as a root mean square; null without enough history',
    ),
});

export type LimitUsageView = z.infer<typeof LimitUsage>;

const LIMIT_GROUPS = ['session', 'agent', 'repo', 'model'] as const;

export const limitUsage = describe({
  summary:
    'whose requests used the windows of subscriptions, by weights that are fitted to the history of each login',
  admin: OWNER,
  query: z.strictObject({
    group_by: z.enum(LIMIT_GROUPS).default('session'),
    since: timeParameter,
    login: z.string().optional().describe('only this login'),
  }),
  response: LimitUsage,
});
