import { z } from 'zod';
import { describe } from '../operation.ts';
import { count, only_project } from './fields.ts';

const RequestBodiesReport = z.object({
  object: z.literal('request.bodies'),
  id: z.string(),
  kept_until: z.iso.datetime(),
  endpoint: z.string().describe("the client's API, such as chat/completions"),
  client: z.string().describe('the body as the client sent it'),
  optimized: z.string().describe('after the optimizer'),
  sent: z
    .string()
    .describe("as it was sent, after gw's other changes and in the words of the API of sent_endpoint"),
  sent_endpoint: z.string(),
});

export type RequestBodiesView = z.infer<typeof RequestBodiesReport>;

export const requestBodies = describe({
  summary: 'the bodies of a request that the optimizer changed, where requests.keep_bodies is on',
  admin: ['reading the bodies of requests', 'gw requests ID --diff'],
  response: RequestBodiesReport,
});

const Replays = z.object({
  object: z.literal('replays.cleared'),
  project_id: z.string().nullable(),
  answers: count,
  bytes: count,
});
export type ReplaysView = z.infer<typeof Replays>;

export const clearReplays = describe({
  summary: 'delete the answers that are kept for replays',
  query: z.strictObject({ project_id: only_project }),
  response: Replays,
});
