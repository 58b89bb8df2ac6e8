import type { NanoUsd } from '../../money.ts';
import type { Names } from '../names.ts';
import type { Db } from '../open.ts';
import { OUTCOMES, type RequestRecord } from './record.ts';
import type { Rollups } from './rollups.ts';
import { createTrialWriter } from './trials.ts';

/** Writes a request record and adds it to its rollup, in the running transaction. */
export type WriteRecord = (record: RequestRecord, held: NanoUsd) => void;

export function createRecordWriter(db: Db, names: Names, rollups: Rollups): WriteRecord {
  const insert = db.prepare(
    `INSERT INTO requests (id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome,
     flags, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens,
     cost_nano_usd, saved_nano_usd, hold_nano_usd, duration_ms, first_byte_ms, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const writeTrial = createTrialWriter(db);
  return (record, held) => {
    const providerId = names.idOf(record.provider);
    const modelId = names.idOf(record.model);
    const { usage } = record;
    insert.run(
      record.id,
      record.projectId,
      record.keyId,
      names.idOf(record.endpoint),
      providerId,
      modelId,
      names.idOf(record.askedModel),
      record.status,
      OUTCOMES[record.outcome],
      record.flags,
      usage.inputTokens,
      usage.cachedInputTokens,
      usage.cacheWriteTokens + usage.cacheWrite1hTokens,
      usage.outputTokens,
      usage.reasoningTokens,
      record.savedTokens,
      record.costNanoUsd,
      record.savedNanoUsd,
      held,
      Math.round(record.durationMs),
      record.firstByteMs === null ? null : Math.round(record.firstByteMs),
      record.detail ? JSON.stringify(record.detail) : null,
    );
    rollups.add(record, providerId, modelId);
    if (record.trial) writeTrial(record, record.trial, providerId, modelId);
  };
}
