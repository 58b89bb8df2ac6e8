import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { ROUTER_ROWS } from '../router/router-state.ts';
import { createStreamReader } from './stream-notes.ts';

interface UnfinishedRequest {
  id: number;
  /** When it came in, or began to wait, UTC milliseconds. */
  timeMs: number;
  project: string;
  provider: string;
  model: string;
  /** '' if unknown. */
  agent: string;
  process: string;
  repo: string;
}

/** A request whose hold is open. */
export interface RunningRequest extends UnfinishedRequest {
  heldNanoUsd: NanoUsd;
  /** What its stream has brought so far, while the daemon says so. */
  outputTokens: number | null;
  tokensPerSecond: number | null;
  usedNanoUsd: NanoUsd | null;
}

/** A request that waits for room in a budget. */
export interface WaitingRequest extends UnfinishedRequest {
  /** The lowest worst case that it can be sent with. */
  neededNanoUsd: NanoUsd;
}

/** As the daemon notes it. */
export type NotedWait = Omit<WaitingRequest, 'project'> & { projectId: number };

/** What is known of the output of a request that is no stream, or that nobody watches. */
export const NO_STREAM = { outputTokens: null, tokensPerSecond: null, usedNanoUsd: null };

/** More than a screen has room for. */
const MOST = 50;
/** The daemon notes twice a second who waits; an older note is one that it left when it was killed. */
const NOTE_LASTS_MS = 5_000;

/** Reads the requests that run, the longest first. */
export function createRunningReader(db: Db): (now: number) => RunningRequest[] {
  const readStreams = createStreamReader(db);
  const select = db.prepare<[], Omit<RunningRequest, keyof typeof NO_STREAM>>(`
    SELECT r.id, r.at AS timeMs, p.name AS project, v.name AS provider, m.name AS model, a.name AS agent,
      c.name AS process, g.name AS repo, r.hold_nano_usd AS heldNanoUsd
    FROM (SELECT * FROM journal WHERE state = 0 ORDER BY id LIMIT ${MOST}) r
    JOIN projects p ON p.id = r.project_id JOIN names v ON v.id = r.provider_id JOIN names m ON m.id = r.model_id
    JOIN names a ON a.id = r.agent_id JOIN names c ON c.id = r.process_id JOIN names g ON g.id = r.repo_id
    ORDER BY r.id`);
  return (now) => {
    const rows = select.all();
    const streams = rows.length > 0 ? readStreams(now) : undefined;
    return rows.map((row) => ({ ...row, ...(streams?.get(row.id) ?? NO_STREAM) }));
  };
}

/** Reads the requests that wait for room in a budget, the longest first. */
export function createWaitingReader(db: Db): (now: number) => WaitingRequest[] {
  const select = db.prepare<[number], WaitingRequest>(`
    SELECT w.value ->> 'id' AS id, w.value ->> 'timeMs' AS timeMs, p.name AS project,
      w.value ->> 'provider' AS provider, w.value ->> 'model' AS model, w.value ->> 'agent' AS agent,
      w.value ->> 'process' AS process, w.value ->> 'repo' AS repo, w.value ->> 'neededNanoUsd' AS neededNanoUsd
    FROM route_health h, json_each(h.snapshot) w JOIN projects p ON p.id = w.value ->> 'projectId'
    WHERE h.id = ${ROUTER_ROWS.waiting} AND h.saved_at > ? ORDER BY timeMs, id`);
  return (now) => select.all(now - NOTE_LASTS_MS);
}
