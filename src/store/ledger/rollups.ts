import { timeOfRequestId } from '../../ids.ts';
import type { Db } from '../open.ts';
import { ADD_COUNTERS, COUNTERS } from './counters.ts';
import { FLAGS, isFailure, type RequestRecord } from './record.ts';
import { bucketOf } from './usage-bucket.ts';
import type { UsageSums } from './usage-sums.ts';

/** The rollup rows that a batch touches, summed in memory and written once each. */
export interface Rollups {
  add(record: RequestRecord, providerId: number, modelId: number): void;
  write(): void;
  clear(): void;
}

export function createRollups(db: Db, sums: UsageSums): Rollups {
  const columns = COUNTERS.join(', ');
  const upsert = db.prepare<number[]>(
    `INSERT INTO usage_hours (bucket, project_id, provider_id, model_id, ${columns})
     VALUES (?, ?, ?, ?, ${COUNTERS.map(() => '?').join(', ')}) ${ADD_COUNTERS}`,
  );
  const rows = new Map<string, number[]>();
  return {
    add(record, providerId, modelId) {
      const bucket = bucketOf(timeOfRequestId(record.id));
      const key = `${bucket} ${record.projectId} ${providerId} ${modelId}`;
      let row = rows.get(key);
      if (!row) {
        row = [bucket, record.projectId, providerId, modelId, ...COUNTERS.map(() => 0)];
        rows.set(key, row);
      }
      const counts = countsOf(record);
      for (let i = 0; i < counts.length; i++) row[4 + i] = (row[4 + i] ?? 0) + (counts[i] ?? 0);
    },
    write() {
      if (rows.size === 0) return;
      const summedUntil = sums.until();
      for (const row of rows.values()) {
        const [bucket = 0] = row;
        upsert.run(...row);
        // The record of a request that ran for long, or of one whose daemon died long ago.
        if (bucket < summedUntil) sums.add(row);
      }
    },
    clear: () => rows.clear(),
  };
}

/** The record's figures in the order of COUNTERS. */
function countsOf(record: RequestRecord): number[] {
  const { usage } = record;
  return [
    1,
    record.outcome === 'blocked' ? 1 : 0,
    isFailure(record) ? 1 : 0,
    record.flags & FLAGS.unpriced ? 1 : 0,
    usage.inputTokens,
    usage.cachedInputTokens,
    usage.cacheWriteTokens + usage.cacheWrite1hTokens,
    usage.outputTokens,
    usage.reasoningTokens,
    record.savedTokens,
    record.costNanoUsd,
    record.savedNanoUsd,
  ];
}
