import type { NanoUsd } from '../../money.ts';
import { SHADOW_PROCESS } from '../../origin.ts';
import type { Db } from '../database/open.ts';
import { bucketOf } from '../ledger/usage-bucket.ts';

export interface ShadowUsage {
  requests: number;
  costNanoUsd: NanoUsd;
}

/** The shadow requests among those of a span of time. */
export function shadowUsage(
  db: Db,
  { from, to, projectId }: { from: number; to: number; projectId: number | undefined },
): ShadowUsage {
  const none = { requests: 0, costNanoUsd: 0 };
  const process = db
    .prepare<[string], number>('SELECT id FROM names WHERE name = ?')
    .pluck()
    .get(SHADOW_PROCESS);
  if (process === undefined) return none;
  return (
    db
      .prepare<unknown[], ShadowUsage>(
        `SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(cost_nano_usd), 0) AS costNanoUsd
         FROM usage_origins WHERE bucket >= @from AND bucket < @to AND process_id = @process
         AND (@projectId IS NULL OR project_id = @projectId)`,
      )
      .get({ from, to, process, projectId: projectId ?? null }) ?? none
  );
}

/** What shadow requests of a project have cost since the start of a day, and what is held for those under way. */
export function createShadowSpend(db: Db): (projectId: number, sinceMs: number) => NanoUsd {
  const select = db
    .prepare<{ projectId: number; from: number; name: string }, number>(
      `SELECT coalesce((SELECT sum(cost_nano_usd) FROM usage_origins
         WHERE bucket >= @from AND project_id = @projectId AND process_id = n.id), 0)
       + coalesce((SELECT sum(amount_nano_usd) FROM holds WHERE project_id = @projectId AND process_id = n.id), 0)
       FROM names n WHERE n.name = @name`,
    )
    .pluck();
  return (projectId, sinceMs) =>
    select.get({ projectId, from: bucketOf(sinceMs), name: SHADOW_PROCESS }) ?? 0;
}
