import { z } from 'zod';
import { describe } from '../operation.ts';
import { count, listOf, MAX_PAGE, page_size, time, timeParameter } from './fields.ts';

/** A request as `gw coverage` compares it with the logs of agents. */
const RecordedCall = z.object({
  object: z.literal('call'),
  id: z.string(),
  created_at: time,
  ended_at: time.nullable().describe('null while it runs'),
  session_id: z.string().nullable(),
  input_tokens: count,
  output_tokens: count,
  upstream_message_id: z.string().nullable(),
  upstream_request_id: z.string().nullable(),
});

export type CallView = z.infer<typeof RecordedCall>;

export const calls = describe({
  summary: "what of an agent's requests tells them apart, oldest first, running ones included",
  query: z.strictObject({
    agent: z.string().describe('such as claude or codex; empty for requests of unknown programs'),
    since: timeParameter,
    until: timeParameter.nonoptional().describe('exclusive'),
    limit: page_size.default(MAX_PAGE),
    cursor: z.string().optional().describe('id of the last call of the page before'),
  }),
  response: listOf(RecordedCall),
});
