import { formatRequestId } from '../../ids.ts';
import { usdNumber } from '../../money.ts';
import { listCacheMisses } from '../../store/reports/cache-misses.ts';
import { missResponse } from '../../store/requests/detail-columns.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/cache.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { parseTime } from '../times.ts';

/** Input that the providers' caches could have served and didn't, newest first. */
export async function cache(
  { db, scope }: Sources,
  { project_id, session, since, limit = 200 }: Input<typeof described.cache>,
): Promise<described.CacheView> {
  const filter = { projectId: projectToRead(db, scope, project_id), session, since: parseTime(since) };
  const { rows, total } = listCacheMisses(db, filter, limit);
  return {
    object: 'cache_report',
    data: rows.map(({ id, session, agent, detail, ...columns }) => ({
      session_id: session || null,
      agent: agent || null,
      request_id: formatRequestId(id),
      ...(missResponse(columns, detail === null ? undefined : JSON.parse(detail)) as MissView),
    })),
    total: {
      requests: total.requests,
      missed_tokens: total.missedTokens,
      missed_usd: usdNumber(total.missedNanoUsd),
    },
  };
}

type MissView = Omit<described.CacheView['data'][number], 'session_id' | 'agent' | 'request_id'>;
