import { SESSION_FIGURES, SESSION_SUMS } from '../archive/rollups.ts';
import { columnName, type Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { SOURCES, type Source } from '../ledger/record.ts';
import type { UsageSource } from './query.ts';

/** An agent's session, with the figures of its ended requests through gw, or of its imported calls. */
export interface Session extends Pick<Row<'sessions'>, (typeof SESSION_FIGURES)[number]> {
  source: Source;
  /** The agent's own id. */
  id: string;
  /** '' if unknown. */
  agent: string;
  agentVersion: string;
  project: string;
  /** Path of the git repository; '' if unknown. */
  repo: string;
  /** UTC milliseconds of its first and last request. */
  firstAt: number;
  lastAt: number;
  /** Why it is taken for a runaway, and since when; null and 0: it is not. */
  runaway: string | null;
  runawayAt: number;
}

/** Which sessions to list; undefined fields match all. */
export interface SessionFilter {
  id?: string | undefined;
  projectId?: number | undefined;
  agent?: string | undefined;
  /** UTC milliseconds: only sessions with a request since then. */
  since?: number | undefined;
  /** `all` has a session twice that is only partly imported. */
  source: UsageSource;
  limit: number;
}

const WHERE = `(@id IS NULL OR s.external_id = @id) AND (@projectId IS NULL OR s.project_id = @projectId)
  AND (@agent IS NULL OR s.agent_id = (SELECT id FROM names WHERE name = @agent))`;

const IMPORTED_FIGURES = SESSION_FIGURES.map((name) =>
  name === 'blockedRequests' ? '0 AS blockedRequests' : `i.${columnName(name)} AS ${name}`,
);

/** The sessions that match, the last active first. */
export function listSessions(db: Db, { source, ...filter }: SessionFilter): Session[] {
  const found = [
    ...(source === 'imported' ? [] : readSessions(db, SESSIONS_OF_GW, filter)),
    ...(source === 'gw' ? [] : readSessions(db, IMPORTED_SESSIONS, filter)),
  ];
  return found.sort((a, b) => b.lastAt - a.lastAt).slice(0, filter.limit);
}

/** Figures are those of the archive and of the journal. */
const SESSIONS_OF_GW = `
    WITH j AS MATERIALIZED (SELECT session_id, ${SESSION_SUMS} FROM journal
       WHERE state > 0 AND source = ${SOURCES.gw} AND session_id <> 0 GROUP BY session_id),
     found AS (SELECT id FROM (SELECT s.id FROM sessions s
         WHERE ${WHERE} AND s.last_at > 0 AND (@since IS NULL OR s.last_at >= @since) ORDER BY s.last_at DESC LIMIT @limit)
       UNION SELECT s.id FROM j JOIN sessions s ON s.id = j.session_id
         WHERE ${WHERE} AND (@since IS NULL OR j.last >= @since))
     SELECT 'gw' AS source, iif(s.runaway_at > 0, s.runaway ->> 'message', NULL) AS runaway, s.runaway_at AS runawayAt,
       s.external_id AS id, a.name AS agent, v.name AS agentVersion, p.name AS project, r.name AS repo,
       iif(s.first_at = 0, j.first, s.first_at) AS firstAt, max(s.last_at, coalesce(j.last, 0)) AS lastAt,
       ${SESSION_FIGURES.map((name) => `s.${columnName(name)} + coalesce(j.${columnName(name)}, 0) AS ${name}`)}
     FROM found CROSS JOIN sessions s ON s.id = found.id LEFT JOIN j ON j.session_id = s.id
     JOIN names a ON a.id = s.agent_id JOIN names v ON v.id = s.agent_version_id
     JOIN names r ON r.id = max(s.repo_id, coalesce(j.repo, 0)) JOIN projects p ON p.id = s.project_id
     ORDER BY lastAt DESC, s.id DESC LIMIT @limit`;

const IMPORTED_SESSIONS = `
  SELECT 'imported' AS source, NULL AS runaway, 0 AS runawayAt, s.external_id AS id, a.name AS agent, v.name AS agentVersion, p.name AS project,
    r.name AS repo, i.first_at AS firstAt, i.last_at AS lastAt, ${IMPORTED_FIGURES}
  FROM imported_sessions i CROSS JOIN sessions s ON s.id = i.session_id
  JOIN names a ON a.id = s.agent_id JOIN names v ON v.id = s.agent_version_id
  JOIN names r ON r.id = s.repo_id JOIN projects p ON p.id = s.project_id
  WHERE ${WHERE} AND (@since IS NULL OR i.last_at >= @since) ORDER BY i.last_at DESC, s.id DESC LIMIT @limit`;

function readSessions(
  db: Db,
  sql: string,
  { id, projectId, agent, since, limit }: Omit<SessionFilter, 'source'>,
): Session[] {
  return db.prepare<[Record<string, string | number | null>], Session>(sql).all({
    id: id ?? null,
    projectId: projectId ?? null,
    agent: agent ?? null,
    since: since ?? null,
    limit,
  });
}
