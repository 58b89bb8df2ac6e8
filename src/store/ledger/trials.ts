import type { Db } from '../database/open.ts';
import { FLAGS, type RequestRecord, type Trial } from './record.ts';

/** Flags of requests whose cost is not what the provider billed. */
const UNKNOWN_COST = FLAGS.estimated | FLAGS.unpriced | FLAGS.unmetered;

/** A trial is of one level: its position here is stored above the 48 bits of the conversation's hash. */
const LEVELS = ['safe', 'balanced'];
export const LEVEL_UNIT = 2 ** 48;

export function trialLevel(level: string): number {
  return LEVELS.indexOf(level) + 1;
}

/** Adds requests to the sums of their conversation. Call it within a write transaction. `now`: its time. */
export function createTrialWriter(
  db: Db,
  now: () => number,
): (record: RequestRecord, trial: Trial, providerId: number, modelId: number) => void {
  const upsert = db.prepare<number[]>(
    `INSERT INTO optimizer_trials VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)
     ON CONFLICT DO UPDATE SET requests = requests + 1, original_tokens = original_tokens + excluded.original_tokens,
     cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd, last_at = max(last_at, excluded.last_at)`,
  );
  return (record, { conversation, heldOut, level, originalTokens }, providerId, modelId) => {
    const { projectId, costNanoUsd, outcome, flags } = record;
    // A free request has nothing to save.
    if (outcome !== 'ok' || flags & UNKNOWN_COST || costNanoUsd === 0) return;
    const side = heldOut ? 1 : 0;
    const key = conversation + trialLevel(level) * LEVEL_UNIT;
    upsert.run(projectId, side, providerId, modelId, key, originalTokens, costNanoUsd, Math.trunc(now()));
  };
}
