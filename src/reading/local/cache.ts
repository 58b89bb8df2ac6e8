import { formatRequestId } from '../../ids.ts';
import { usdNumber } from '../../money.ts';
import type { Db } from '../../store/database/open.ts';
import { listCacheMisses } from '../../store/reports/cache-misses.ts';
import { missResponse } from '../../store/requests/detail-columns.ts';
import type { CacheView } from '../cache-schema.ts';
import type { CacheQuery } from '../reader.ts';

/** What the providers' caches could have served and didn't, the newest first. */
export function readCache(
  { db, projectId }: { db: Db; projectId: number | undefined },
  { session, since, limit }: CacheQuery,
): CacheView {
  const { rows, total } = listCacheMisses(db, { projectId, session, since }, limit);
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

type MissView = Omit<CacheView['data'][number], 'session_id' | 'agent' | 'request_id'>;
