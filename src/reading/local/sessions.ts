import { notFound } from '../../errors.ts';
import { usdNumber } from '../../money.ts';
import { SESSION_COUNTS } from '../../store/archive/rollups.ts';
import { byColumnName } from '../../store/database/columns.ts';
import type { Db } from '../../store/database/open.ts';
import { listSessions, type Session } from '../../store/reports/sessions.ts';
import type { SessionsQuery } from '../reader.ts';
import type { SessionView } from '../schemas.ts';

/** The sessions that match, the last active first. Throws GwError 404 for an id that none has. */
export function readSessions(
  { db, projectId }: { db: Db; projectId: number | undefined },
  { id, agent, since, limit }: SessionsQuery,
): SessionView[] {
  const sessions = listSessions(db, { id, projectId, agent, since, limit });
  if (id !== undefined && sessions.length === 0)
    throw notFound(`no session "${id}". See: gw sessions`, 'session_not_found', 'id');
  return sessions.map(viewOf);
}

function viewOf(session: Session): SessionView {
  return {
    object: 'session',
    id: session.id,
    agent: session.agent || null,
    agent_version: session.agentVersion || null,
    project_id: session.project,
    repo: session.repo || null,
    first_at: new Date(session.firstAt).toISOString(),
    last_at: new Date(session.lastAt).toISOString(),
    ...byColumnName(SESSION_COUNTS, (name) => session[name]),
    cost_usd: usdNumber(session.costNanoUsd),
    cost_nano_usd: session.costNanoUsd,
  };
}
