import { remembered } from '../../json/grouped.ts';
import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration, inTransaction } from '../database/write.ts';
import { LEVEL_UNIT, trialLevel } from '../ledger/journal.ts';

/** Sums over the conversations on one side of a trial, with those that their variance is computed from. */
export interface Side {
  conversations: number;
  requests: number;
  /** Before compression; estimated. */
  originalTokens: number;
  costNanoUsd: number;
  /** Sums of squares and products over conversations. */
  tokensSquared: number;
  costSquared: number;
  costTimesTokens: number;
}

/** The two sides for one model: compressed and held out. */
export interface ModelTrial {
  model: string;
  treated: Side;
  heldOut: Side;
}

export type Verdict = Omit<Row<'optimizerVerdicts'>, 'projectId'>;

export const NO_TRIAL: Side = Object.freeze({
  conversations: 0,
  requests: 0,
  originalTokens: 0,
  costNanoUsd: 0,
  tokensSquared: 0,
  costSquared: 0,
  costTimesTokens: 0,
});

export async function readTrials(db: Db, projectId: number, level: string): Promise<ModelTrial[]> {
  const rows = db
    .prepare<[number, number], Side & { model: string; isHeldOut: number }>(`
      SELECT iif(m.name LIKE v.name || '/%', m.name, v.name || '/' || m.name) AS model, t.held_out AS isHeldOut,
        count(*) AS conversations, sum(t.requests) AS requests, sum(t.original_tokens) AS originalTokens,
        sum(t.cost_nano_usd) AS costNanoUsd, total(1.0 * t.original_tokens * t.original_tokens) AS tokensSquared,
        total(1.0 * t.cost_nano_usd * t.cost_nano_usd) AS costSquared,
        total(1.0 * t.cost_nano_usd * t.original_tokens) AS costTimesTokens
      FROM optimizer_trials t JOIN names v ON v.id = t.provider_id JOIN names m ON m.id = t.model_id
      WHERE t.project_id = ? AND t.conversation / ${LEVEL_UNIT} = ? GROUP BY t.provider_id, t.model_id, t.held_out ORDER BY model`)
    .all(projectId, trialLevel(level));
  const trials = new Map<string, ModelTrial>();
  for (const { model, isHeldOut, ...side } of rows) {
    const trial = remembered(trials, model, () => ({ model, treated: NO_TRIAL, heldOut: NO_TRIAL }));
    if (isHeldOut) trial.heldOut = side;
    else trial.treated = side;
  }
  return [...trials.values()];
}

/** The projects that have a trial, ordered by name. */
export async function projectsOnTrial(db: Db): Promise<{ id: number; name: string }[]> {
  return db
    .prepare<[], { id: number; name: string }>(`SELECT id, name FROM projects WHERE removed_at IS NULL
      AND EXISTS (SELECT 1 FROM optimizer_trials WHERE project_id = projects.id) ORDER BY name`)
    .all();
}

/** Closes a project's trial: stores the verdict and deletes the conversations, so that the next trial starts empty. */
export function closeTrial(db: Db, projectId: number, verdict: Verdict): void {
  changeConfiguration(db, () => {
    db.prepare(`INSERT OR REPLACE INTO optimizer_verdicts VALUES (@projectId, @at, @savedNanoUsd, @marginNanoUsd,
      @treatedConversations, @heldOutConversations)`).run({ ...verdict, projectId });
    db.prepare('DELETE FROM optimizer_trials WHERE project_id = ?').run(projectId);
  });
}

/** The projects whose optimizer switched itself off, by name, whatever their setting is now. */
export async function readVerdicts(db: Db): Promise<Map<string, Verdict>> {
  const rows = db
    .prepare<[], Verdict & { name: string }>(`
      SELECT p.name, at, saved_nano_usd AS savedNanoUsd, margin_nano_usd AS marginNanoUsd,
        treated_conversations AS treatedConversations, held_out_conversations AS heldOutConversations
      FROM optimizer_verdicts JOIN projects p ON p.id = project_id ORDER BY p.name`)
    .all();
  return new Map(rows.map(({ name, ...verdict }) => [name, verdict]));
}

/** Deletes conversations whose last request came before `before`: models and prices change. */
export function forgetTrials(db: Db, before: number): void {
  inTransaction(db, () => db.prepare('DELETE FROM optimizer_trials WHERE last_at < ?').run(before));
}
