import { z } from 'zod';
import { CHANGE, parse, REGISTRATION } from '../../webhooks/validate.ts';
import { describe } from '../operation.ts';
import { count, deletedOf, listOf, only_project, page_size, time, timeParameter } from './fields.ts';

const Webhook = z.object({
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

const NewWebhook = Webhook.extend({ secret: z.string().describe('shown only once') });

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

const WebhookTest = z.object({
  delivered: z.boolean(),
  event_id: z.string(),
  event_type: z.string(),
  response_status: z.number().int().nullable(),
  response_body: z.string().nullable(),
  error: z.string().nullable(),
  duration_ms: z.number(),
});

export const addWebhook = describe({
  summary: 'register a webhook',
  body: REGISTRATION,
  parseBody: (body) => parse(REGISTRATION, body),
  response: NewWebhook,
});

export const webhooks = describe({
  summary: 'the webhooks',
  query: z.object({ project_id: z.string().optional() }),
  response: listOf(Webhook),
});

export const webhook = describe({ summary: 'one webhook', response: Webhook });

export const changeWebhook = describe({
  summary: 'change a webhook',
  body: CHANGE,
  parseBody: (body) => parse(CHANGE, body),
  response: Webhook,
});

export const removeWebhook = describe({
  summary: 'remove a webhook and its deliveries',
  response: deletedOf('webhook'),
});

export const testWebhook = describe({ summary: 'send a sample event now', response: WebhookTest });

export const rotateWebhook = describe({ summary: 'give a webhook a new secret', response: NewWebhook });

export const deliveries = describe({
  summary: 'deliveries to webhooks, newest first',
  query: z.strictObject({
    project_id: only_project,
    webhook_id: z.string().optional(),
    status: z.enum(['pending', 'sending', 'delivered', 'failed']).optional(),
    since: timeParameter.optional(),
    limit: page_size.default(50),
  }),
  response: listOf(Delivery),
});

export const replayFailed = describe({
  summary: 'resend all failed deliveries that match and were not resent yet',
  query: z.strictObject({
    project_id: z.string().optional(),
    webhook_id: z.string().optional(),
    since: timeParameter.optional(),
  }),
  response: z.object({ replayed: z.number().int() }),
});

export const replayDelivery = describe({ summary: 'resend a finished delivery', response: Delivery });
