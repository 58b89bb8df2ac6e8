import { z } from 'zod';
import { describe } from '../operation.ts';
import { listOf, time } from './fields.ts';

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
