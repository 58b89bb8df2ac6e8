import { z } from 'zod';
import { nanoUsd, time, usd } from './usage-schemas.ts';

/** A request that waits for its owner's answer, as a budget with `on_limit` `ask` has no room for it. */
export const AskReport = z.object({
  object: z.literal('ask'),
  id: z.string().describe('such as ask_0kr3x5v2m1c'),
  request_id: z.string(),
  project_id: z.string(),
  budget_id: z.string().describe('the budget that has no room'),
  model: z.string(),
  agent: z.string().nullable(),
  needed_usd: usd.describe('what the request holds if it is approved'),
  needed_nano_usd: nanoUsd,
  created_at: time,
  expires_at: time.describe('the request is refused then'),
  state: z.enum(['open', 'approved', 'denied', 'expired', 'ended']),
});
export type AskView = z.infer<typeof AskReport>;
