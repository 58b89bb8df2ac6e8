import { z } from 'zod';
import { count, time } from './usage-schemas.ts';

export const Webhook = z.object({
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  project_id: z.string(),
  format: z.string(),
  status: z.enum(['enabled', 'disabled', 'paused']),
  status_reason: z.string().nullable(),
  consecutive_failures: count,
  created_at: time,
  previous_secret_expires_at: time.nullable(),
});

export const NewWebhook = Webhook.extend({ secret: z.string().describe('shown only once') });

export const Delivery = z.object({
  id: z.string(),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  event_count: count,
  status: z.enum(['pending', 'sending', 'delivered', 'failed']),
  attempts: count,
  next_attempt_at: time.nullable(),
  last_attempt_at: time.nullable(),
  duration_ms: z.number().nullable(),
  response_status: z.number().int().nullable(),
  response_body: z.string().nullable(),
  error: z.string().nullable(),
  created_at: time,
  finished_at: time.nullable(),
  replayed_at: time.nullable(),
});

export const WebhookTest = z.object({
  delivered: z.boolean(),
  event_id: z.string(),
  event_type: z.string(),
  response_status: z.number().int().nullable(),
  response_body: z.string().nullable(),
  error: z.string().nullable(),
  duration_ms: z.number(),
});
