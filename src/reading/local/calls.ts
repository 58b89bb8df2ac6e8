import { formatRequestId } from '../../ids.ts';
import type { Db } from '../../store/database/open.ts';
import { listCalls } from '../../store/requests/recorded-calls.ts';
import type { CallView } from '../call-schema.ts';
import type { CallsQuery } from '../reader.ts';
import { projectToRead, type Scope } from './scope.ts';

/** The calls of an agent that came through gw, oldest first. */
export function readCalls({ db, scope }: { db: Db; scope: Scope }, query: CallsQuery): CallView[] {
  const projectId = projectToRead(db, scope, undefined);
  return listCalls(db, { ...query, projectId }).map((call) => ({
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
