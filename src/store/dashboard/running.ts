import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';

/** A request whose hold is open. */
export interface RunningRequest {
  id: number;
  /** When it came in, UTC milliseconds. */
  timeMs: number;
  project: string;
  provider: string;
  model: string;
  /** '' if unknown. */
  agent: string;
  process: string;
  repo: string;
  heldNanoUsd: NanoUsd;
}

/** More than a screen has room for. */
const MOST = 50;

/** Reads the requests that run, the longest first. */
export function createRunningReader(db: Db): () => RunningRequest[] {
  const select = db.prepare<[], RunningRequest>(`
    SELECT r.id, r.at AS timeMs, p.name AS project, v.name AS provider, m.name AS model, a.name AS agent,
      c.name AS process, g.name AS repo, r.hold_nano_usd AS heldNanoUsd
    FROM (SELECT * FROM journal WHERE state = 0 ORDER BY id LIMIT ${MOST}) r
    JOIN projects p ON p.id = r.project_id JOIN names v ON v.id = r.provider_id JOIN names m ON m.id = r.model_id
    JOIN names a ON a.id = r.agent_id JOIN names c ON c.id = r.process_id JOIN names g ON g.id = r.repo_id
    ORDER BY r.id`);
  return () => select.all();
}
