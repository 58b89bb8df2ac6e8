import type { Random } from '../../ids.ts';
import type { Labels } from '../../labels.ts';
import type { NanoUsd } from '../../money.ts';
import { insertKey } from '../accounts/keys.ts';
import { insertRow } from '../database/columns.ts';
import { isLockFree } from '../database/lock.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';
import { BILLED_NANO_USD, OUTCOMES } from '../ledger/record.ts';
import type { BudgetPeriod } from '../ledger/terms.ts';
import { type BudgetSettings, checkTerms, DEFAULT_ALERT_PERCENT } from './budgets.ts';

/** A cap of one run: for all of it, or in a sliding window. */
export type RunCap = Pick<BudgetSettings, 'capNanoUsd' | 'alertPercent' | 'windowMs'>;

export interface NewRun {
  /** `run_...`; part of its budgets' names. */
  id: string;
  projectId: number;
  caps: readonly RunCap[];
  /** The share of a subscription's windows that it may use, in millionths. */
  windowSharePpm?: number | undefined;
  /** Of the requests with its key. */
  labels?: Labels | undefined;
  /** A file that is locked while the run lives. */
  lockPath: string;
  now: number;
  random?: Random;
}

export interface Run {
  id: string;
  keyId: number;
  key: string;
}

/** Makes a key for one run, and budgets that count the requests with this key alone. */
export async function openRun(db: Db, run: NewRun): Promise<Run> {
  const { id, projectId, caps, lockPath, now } = run;
  for (const cap of caps) checkTerms({ ...cap, period: periodOf(cap) });
  return changeConfiguration(db, () => {
    const { id: keyId, key } = insertKey(db, { ...run, label: id });
    for (const cap of caps) {
      const { windowMs = null, capNanoUsd, alertPercent = DEFAULT_ALERT_PERCENT } = cap;
      const terms = { projectId, period: periodOf(cap), windowMs, capNanoUsd, alertPercent, capVersion: 1 };
      const scope = { scopeKind: 'run', scopeValue: id, keyId };
      insertRow(db, 'budgets', { ...terms, ...scope, currentStart: now, createdAt: now });
    }
    if (run.windowSharePpm !== undefined)
      insertRow(db, 'limitShares', { keyId, sharePpm: run.windowSharePpm });
    insertRow(db, 'runs', { id, keyId, lockPath });
    return { id, keyId, key };
  });
}

const periodOf = ({ windowMs }: RunCap): BudgetPeriod => (windowMs === undefined ? 'lifetime' : 'rolling');

/** Ends a run: its key is revoked and its budgets are removed. Its open holds settle as usual. */
export function endRun(db: Db, id: string, now: number): void {
  changeConfiguration(db, () => {
    db.prepare(`UPDATE keys SET revoked_at = ? WHERE id = (SELECT key_id FROM runs WHERE id = ?)
      AND revoked_at IS NULL`).run(now, id);
    db.prepare(`UPDATE budgets SET removed_at = ? WHERE scope_kind = 'run' AND scope_value = ?
      AND removed_at IS NULL`).run(now, id);
    db.prepare('DELETE FROM limit_shares WHERE key_id = (SELECT key_id FROM runs WHERE id = ?)').run(id);
    db.prepare('DELETE FROM runs WHERE id = ?').run(id);
  });
}

/** The runs whose process was killed. */
export function deadRuns(db: Db): string[] {
  return db
    .prepare<[], { id: string; lockPath: string }>('SELECT id, lock_path AS lockPath FROM runs')
    .all()
    .filter(({ lockPath }) => isLockFree(lockPath))
    .map(({ id }) => id);
}

export interface RunUsage {
  requests: number;
  /** Refused for lack of money. */
  refused: number;
  /** Cached ones included. */
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  costNanoUsd: NanoUsd;
  /** Requests that are still running. */
  running: number;
}

const FIGURES = `outcome, 1 + folded AS requests, input_tokens, cached_input_tokens, output_tokens, ${BILLED_NANO_USD} AS cost_nano_usd`;

export function readRunUsage(db: Db, { keyId, since }: { keyId: number; since: number }): RunUsage {
  const usage = db
    .prepare<[{ since: number; keyId: number; blocked: number }], Omit<RunUsage, 'running'>>(`
      SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(iif(outcome = @blocked, requests, 0)), 0) AS refused,
      coalesce(sum(input_tokens), 0) AS inputTokens, coalesce(sum(cached_input_tokens), 0) AS cachedInputTokens,
      coalesce(sum(output_tokens), 0) AS outputTokens, coalesce(sum(cost_nano_usd), 0) AS costNanoUsd
      FROM (SELECT ${FIGURES} FROM requests WHERE id >= @since AND key_id = @keyId
      UNION ALL SELECT ${FIGURES} FROM journal WHERE state > 0 AND id >= @since AND key_id = @keyId)`)
    .get({ since, keyId, blocked: OUTCOMES.blocked });
  const running = db
    .prepare<[number], number>('SELECT count(*) FROM journal WHERE state = 0 AND key_id = ?')
    .pluck()
    .get(keyId);
  if (!usage) throw new Error('a sum has no row');
  return { ...usage, running: running ?? 0 };
}
