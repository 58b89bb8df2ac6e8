import { requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { newestFrom } from '../database/id-range.ts';
import type { Db } from '../database/open.ts';
import { MISS_CAUSES, type MissCause, SOURCES } from '../ledger/record.ts';

/** What requests missed of their providers' caches, for one cause. */
export interface CauseMisses {
  cause: MissCause;
  requests: number;
  missedTokens: number;
  missedNanoUsd: NanoUsd;
}

const CAUSES = Object.keys(MISS_CAUSES) as MissCause[];
const MAX_SEARCHED = 20_000;

/** Reads the misses of the newest requests since a time, the dearest cause first. */
export function createMissesReader(db: Db): (since: number) => CauseMisses[] {
  const select = db.prepare<[number, number], Omit<CauseMisses, 'cause'> & { cause: number }>(
    `SELECT miss_cause AS cause, count(*) AS requests, sum(missed_tokens) AS missedTokens,
     sum(missed_nano_usd) AS missedNanoUsd FROM request_log
     WHERE id >= ? AND at >= ? AND id >= ${newestFrom(MAX_SEARCHED)} AND missed_tokens > 0 AND source = ${SOURCES.gw}
     GROUP BY miss_cause ORDER BY missedNanoUsd DESC, missedTokens DESC`,
  );
  return (since) =>
    select
      .all(requestIdAt(since), since)
      .map(({ cause, ...rest }) => ({ cause: CAUSES[cause] ?? 'unknown', ...rest }));
}
