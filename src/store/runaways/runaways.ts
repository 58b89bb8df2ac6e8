import { notFound } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';
import { SOURCES } from '../ledger/record.ts';

/** Repeated turns, tools that fail, or spend beyond what is usual. */
export type RunawayReason = 'repeats' | 'failures' | 'spend';

/** A session that is taken for a runaway. */
export interface RunawaySession {
  /** The agent's own id of it, cut as it is stored. */
  session: string;
  agent: string;
  projectId: number;
  project: string;
  reason: RunawayReason;
  /** Turns or tools in a row. */
  count?: number;
  message: string;
  /** UTC milliseconds. */
  foundAt: number;
}

/** What sessions of an agent have had in the last 30 days, without the one that is looked at. */
export interface Usual {
  /** In a row: what all but one of a hundred stay below, or what its owner has let the session itself have. */
  repeats: number;
  failures: number;
  /** Their active hours: the median of what one costs, and what all but one of a hundred stay below. */
  hours: { count: number; median: NanoUsd; most: NanoUsd };
}

interface Peaks {
  repeats: number;
  failures: number;
}

/** The session of a request. */
export interface SessionKey {
  projectId: number;
  agent: string;
  session: string;
}

const MOST_LISTED = 100;
/** After this long a session is taken for one no more. */
const KEPT_MS = 86_400_000;

/** The sessions that are taken for runaways, the latest first. */
export function listRunaways(
  db: Db,
  { now, projectId }: { now: number; projectId?: number | undefined },
): RunawaySession[] {
  return db
    .prepare<[{ projectId: number | null; since: number }], RunawaySession>(`
      SELECT s.external_id AS session, a.name AS agent, s.project_id AS projectId, p.name AS project,
      s.runaway ->> 'reason' AS reason, s.runaway ->> 'message' AS message, s.runaway ->> 'count' AS count, s.runaway_at AS foundAt
      FROM sessions s JOIN names a ON a.id = s.agent_id JOIN projects p ON p.id = s.project_id
      WHERE s.runaway_at > @since AND s.runaway_at > 0 AND (@projectId IS NULL OR s.project_id = @projectId)
      ORDER BY s.runaway_at DESC LIMIT ${MOST_LISTED}`)
    .all({ projectId: projectId ?? null, since: now - KEPT_MS });
}

/** Lets a session that was taken for a runaway go on. Throws GwError 404 if there is none. */
export function resumeSession(db: Db, session: string, projectId?: number): void {
  changeConfiguration(db, () => {
    const { changes } = db
      .prepare<
        [{ session: string; projectId: number | null }]
      >(`UPDATE sessions SET runaway = '', runaway_at = 0
        WHERE external_id = @session AND runaway_at > 0 AND (@projectId IS NULL OR project_id = @projectId)`)
      .run({ session, projectId: projectId ?? null });
    if (changes === 0)
      throw notFound(
        `no session "${session}" is taken for a runaway. See: gw status`,
        'session_not_found',
        'id',
      );
  });
}

const USUAL_MS = 30 * 86_400_000;
/** The latest rows that are read: a few milliseconds. */
const MOST_SESSIONS = 2_000;
const MOST_BUCKETS = 20_000;

/** Writes what is found of sessions, and reads what is usual. */
export function createRunawayRows(db: Db) {
  type Of = SessionKey & { since: number };
  const ofSession = `external_id = @session AND project_id = @projectId
    AND agent_id = (SELECT id FROM names WHERE name = @agent)`;
  const mark = db.prepare<[Record<string, string | number>]>(
    `UPDATE sessions SET runaway = @runaway, runaway_at = @at WHERE ${ofSession}`,
  );
  const peak = db.prepare<[Record<string, string | number>]>(`UPDATE sessions SET
    peak_repeats = max(peak_repeats, @repeats), peak_failures = max(peak_failures, @failures) WHERE ${ofSession}`);
  const selectPeaks = db.prepare<[Of], Peaks>(`
    SELECT peak_repeats AS repeats, peak_failures AS failures FROM sessions
    WHERE last_at > @since AND project_id = @projectId AND agent_id = (SELECT id FROM names WHERE name = @agent)
    ORDER BY last_at DESC LIMIT ${MOST_SESSIONS}`);
  const selectOwn = db.prepare<[SessionKey], Peaks & { id: number }>(`
    SELECT id, peak_repeats AS repeats, peak_failures AS failures FROM sessions WHERE ${ofSession}`);
  const selectHours = db
    .prepare<[Of & { own: number }], NanoUsd>(`
      SELECT sum(cost) FROM (SELECT d.session_id AS session, h.bucket / 3600000 AS hour, h.cost_nano_usd AS cost
        FROM usage_hours h CROSS JOIN usage_dims d ON d.id = h.dims_id WHERE h.bucket > @since AND d.project_id = @projectId
        AND d.agent_id = (SELECT id FROM names WHERE name = @agent) AND d.session_id NOT IN (0, @own)
        AND d.source = ${SOURCES.gw} AND h.cost_nano_usd > 0 ORDER BY h.bucket DESC LIMIT ${MOST_BUCKETS})
      GROUP BY session, hour`)
    .pluck();
  return {
    /** Marks a session as a runaway, or as none. Call it within a write transaction. */
    mark(key: SessionKey, found: object | undefined, now: number): void {
      mark.run({ ...key, runaway: found ? JSON.stringify(found) : '', at: found ? now : 0 });
    },
    /** Keeps what a session has had without being a runaway. Call it within a write transaction. */
    keepPeaks: ({ projectId, agent, session }: SessionKey, peaks: Peaks): void =>
      void peak.run({ projectId, agent, session, ...peaks }),
    usual(key: SessionKey, now: number): Usual {
      const of = { ...key, since: now - USUAL_MS };
      const own = selectOwn.get({ projectId: key.projectId, agent: key.agent, session: key.session });
      const peaks = selectPeaks.all(of);
      const hours = selectHours.all({ ...of, own: own?.id ?? 0 });
      const usual = (name: keyof Peaks) =>
        Math.max(
          own?.[name] ?? 0,
          quantile(
            peaks.map((each) => each[name]),
            0.99,
          ),
        );
      return {
        repeats: usual('repeats'),
        failures: usual('failures'),
        hours: { count: hours.length, median: quantile(hours, 0.5), most: quantile(hours, 0.99) },
      };
    },
  };
}

/** The value that a share of the values don't exceed, such as 0.5 for the median; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
