import { notFound } from '../../errors.ts';
import { usdFields } from '../../money.ts';
import { SESSION_COUNTS } from '../../store/archive/rollups.ts';
import { byColumnName } from '../../store/database/columns.ts';
import { listSessions, type Session } from '../../store/reports/sessions.ts';
import * as store from '../../store/runaways/runaways.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/usage.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { parseTime } from '../times.ts';

type Query = Input<typeof described.sessions>;

export const sessions = async (sources: Sources, query: Query) => read(sources, query);

/** Throws GwError 404 for an id that none has. */
export async function session(sources: Sources, { id, ...query }: Query & { id: string }) {
  const found = read(sources, query, id);
  if (found.length > 0) return found;
  throw notFound(`no session "${id}". See: gw sessions`, 'session_not_found', 'id');
}

/** Throws GwError 404 unless it is taken for a runaway. */
export async function resumeSession(
  { db, scope, change }: Sources,
  { id, project_id }: Input<typeof described.resumeSession> & { id: string },
) {
  await change(async () => store.resumeSession(db, id, projectToRead(db, scope, project_id)));
  return { object: 'session', id, resumed: true };
}

/** The last active first. */
function read(
  { db, scope }: Sources,
  { project_id, agent, since, source = 'all', limit = 50 }: Query,
  id?: string,
): described.SessionView[] {
  const projectId = projectToRead(db, scope, project_id);
  return listSessions(db, { id, projectId, agent, since: parseTime(since), source, limit }).map(viewSession);
}

export function viewSession(session: Session): described.SessionView {
  return {
    object: 'session',
    id: session.id,
    agent: session.agent || null,
    agent_version: session.agentVersion || null,
    source: session.source,
    project_id: session.project,
    repo: session.repo || null,
    first_at: new Date(session.firstAt).toISOString(),
    last_at: new Date(session.lastAt).toISOString(),
    ...byColumnName(SESSION_COUNTS, (name) => session[name]),
    ...usdFields('cost', session.costNanoUsd),
    runaway:
      session.runaway === null || session.runawayAt === 0
        ? null
        : { message: session.runaway, found_at: new Date(session.runawayAt).toISOString() },
  };
}
