import type { Calendar } from '../../calendar.ts';
import { timeOfRequestId } from '../../ids.ts';
import type { Db } from '../open.ts';
import { FLAGS, isFailure, type RequestRecord } from './record.ts';

const HOUR_MS = 3_600_000;

const COUNTERS = [
  'requests',
  'blocked_requests',
  'failed_requests',
  'unpriced_requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'saved_tokens',
  'cost_nano_usd',
  'saved_nano_usd',
] as const;

/** The rollup rows that a batch touches, summed in memory and written once each. */
export interface Rollups {
  add(record: RequestRecord, providerId: number, modelId: number): void;
  write(): void;
  clear(): void;
}

/**
 * The start of a request's bucket: its UTC hour, or the start of the local day where that falls inside the hour,
 * so that a bucket never straddles two days of the calendar.
 */
export function bucketOf(timeMs: number, calendar: Calendar): number {
  return Math.max(timeMs - (timeMs % HOUR_MS), calendar.day(timeMs).start);
}

export function createRollups(db: Db, calendar: () => Calendar): Rollups {
  const columns = COUNTERS.join(', ');
  const upsert = db.prepare<number[]>(
    `INSERT INTO usage_hours (bucket, project_id, provider_id, model_id, ${columns})
     VALUES (?, ?, ?, ?, ${COUNTERS.map(() => '?').join(', ')})
     ON CONFLICT DO UPDATE SET ${COUNTERS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
  );
  const rows = new Map<string, number[]>();
  return {
    add(record, providerId, modelId) {
      const bucket = bucketOf(timeOfRequestId(record.id), calendar());
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
      for (const row of rows.values()) upsert.run(...row);
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
