import { formatRequestId } from '../../ids.ts';
import { listCalls } from '../../store/requests/recorded-calls.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/calls.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { cursorId } from './conditions.ts';

/** The calls of an agent that came through gw, oldest first; those of unknown programs if `agent` is empty. */
export async function calls(
  { db, scope }: Pick<Sources, 'db' | 'scope'>,
  { agent, since, until, limit = 1_000, cursor }: Input<typeof described.calls>,
): Promise<described.CallView[]> {
  const after = cursorId(cursor, 'the id of a call');
  const projectId = projectToRead(db, scope, undefined);
  const span = { since: Date.parse(since), until: Date.parse(until) };
  return listCalls(db, { agent, ...span, limit, after, projectId }).map((call) => ({
    object: 'call',
    id: formatRequestId(call.id),
    created_at: new Date(call.startedAt).toISOString(),
    ended_at: call.endedAt === null ? null : new Date(call.endedAt).toISOString(),
    session_id: call.session || null,
    input_tokens: call.inputTokens,
    output_tokens: call.outputTokens,
    upstream_message_id: call.upstreamMessageId || null,
    upstream_request_id: call.upstreamRequestId || null,
  }));
}
