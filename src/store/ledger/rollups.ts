import { timeOfRequestId } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { FLAGS, isFailure, type RequestRecord } from './record.ts';
import { bucketOf } from './usage-bucket.ts';
import { ADD_COUNTERS, COUNTERS, type UsageSums } from './usage-sums.ts';

/** The ids of a record's names. */
export interface RecordNames {
  providerId: number;
  modelId: number;
  processId: number;
  repoId: number;
}

/** The rollup rows that a batch changes, summed in memory and written once each. */
export interface Rollups {
  add(record: RequestRecord, names: RecordNames): void;
  /** Adds a record to the rollup by origin. Its origin was not known when `add` was called. */
  addOrigin(record: RequestRecord, names: Pick<RecordNames, 'processId' | 'repoId'>): void;
  write(): void;
  clear(): void;
}

export function createRollups(db: Db, sums: UsageSums): Rollups {
  const hours = createTable(db, 'usage_hours (bucket, project_id, provider_id, model_id');
  const origins = createTable(db, 'usage_origins (bucket, project_id, process_id, repo_id');
  return {
    add(record, { providerId, modelId, processId, repoId }) {
      const bucket = bucketOf(timeOfRequestId(record.id));
      const counts = countsOf(record);
      hours.add(bucket, record.projectId, providerId, modelId, counts);
      // Usage of unknown origin has no row: it is the difference between the two tables.
      if (processId + repoId > 0) origins.add(bucket, record.projectId, processId, repoId, counts);
    },
    addOrigin(record, { processId, repoId }) {
      const bucket = bucketOf(timeOfRequestId(record.id));
      origins.add(bucket, record.projectId, processId, repoId, countsOf(record));
    },
    write() {
      if (hours.rows.size > 0) {
        const summedUntil = sums.until();
        // The request ran for long, or its daemon died long ago.
        for (const row of hours.rows.values()) if ((row[0] ?? 0) < summedUntil) sums.add(row);
      }
      hours.write();
      origins.write();
    },
    clear() {
      hours.clear();
      origins.clear();
    },
  };
}

/** Sums of a batch by bucket, project and two names, for a table that starts with these columns. */
function createTable(db: Db, tableAndKey: string) {
  const upsert = db.prepare<number[]>(
    `INSERT INTO ${tableAndKey}, ${COUNTERS.join(', ')})
     VALUES (?, ?, ?, ?, ${COUNTERS.map(() => '?').join(', ')}) ${ADD_COUNTERS}`,
  );
  const rows = new Map<string, number[]>();
  let last: number[] | undefined;

  /** Nearly always the row of the previous record, which saves making and hashing a key. */
  function rowOf(bucket: number, projectId: number, first: number, second: number): number[] {
    if (last?.[0] === bucket && last[1] === projectId && last[2] === first && last[3] === second) return last;
    const key = `${bucket} ${projectId} ${first} ${second}`;
    last = rows.get(key);
    if (!last) {
      last = [bucket, projectId, first, second, ...COUNTERS.map(() => 0)];
      rows.set(key, last);
    }
    return last;
  }

  return {
    rows,
    add(bucket: number, projectId: number, first: number, second: number, counts: readonly number[]) {
      const row = rowOf(bucket, projectId, first, second);
      for (let i = 0; i < counts.length; i++) row[4 + i] = (row[4 + i] ?? 0) + (counts[i] ?? 0);
    },
    write() {
      for (const row of rows.values()) upsert.run(...row);
    },
    clear() {
      rows.clear();
      last = undefined;
    },
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
