import type { NanoUsd } from '../../money.ts';
import type { Origin } from '../../origin.ts';
import type { Names } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import { OUTCOMES, type RequestRecord } from './record.ts';
import type { Rollups } from './rollups.ts';
import { createTrialWriter } from './trials.ts';

/** Writes request records and adds them to the rollups, within a batch. */
export interface RecordWriter {
  write(record: RequestRecord, held: NanoUsd): void;
  /** Adds the origin to a record that was written without one. Does nothing if there is no such record. */
  writeOrigin(record: RequestRecord, origin: Origin): void;
}

export function createRecordWriter(db: Db, names: Names, rollups: Rollups): RecordWriter {
  const update = db.prepare<[number, number, number, number]>(
    `UPDATE requests SET process_id = ?, repo_id = ? WHERE id = ? AND outcome = ? AND process_id = 0 AND repo_id = 0`,
  );
  const insert = db.prepare(
    `INSERT INTO requests (id, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, status, outcome,
     flags, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens,
     cost_nano_usd, saved_nano_usd, hold_nano_usd, duration_ms, first_byte_ms, detail, process_id, repo_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const writeTrial = createTrialWriter(db);

  function write(record: RequestRecord, held: NanoUsd): void {
    const providerId = names.idOf(record.provider);
    const modelId = names.idOf(record.model);
    const { usage, origin } = record;
    const processId = origin ? names.idOf(origin.process) : 0;
    const repoId = origin ? names.idOf(origin.repo) : 0;
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
      processId,
      repoId,
    );
    rollups.add(record, { providerId, modelId, processId, repoId });
    if (record.trial) writeTrial(record, record.trial, providerId, modelId);
  }

  return {
    write,
    writeOrigin(record, { process, repo }) {
      const ids = { processId: names.idOf(process), repoId: names.idOf(repo) };
      const { changes } = update.run(ids.processId, ids.repoId, record.id, OUTCOMES[record.outcome]);
      if (changes > 0) rollups.addOrigin(record, ids);
    },
  };
}
