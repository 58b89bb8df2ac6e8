import { z } from 'zod';

const time = z.iso.datetime().describe('UTC');
const count = z.number().int().min(0);

/** A request as `gw coverage` compares it with the logs of agents. */
export const RecordedCall = z.object({
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
