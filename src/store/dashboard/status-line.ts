import Database from 'better-sqlite3';
import type { Calendar } from '../../calendar.ts';
import { orElse } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { SOURCES } from '../ledger/record.ts';
import { leftOf } from '../ledger/standing.ts';
import { budgetLabel } from '../ledger/terms.ts';
import { listLimits } from '../limits/limit-rows.ts';
import { readStandingsFor } from './standings.ts';

/** Data of a status line. */
export interface StatusFigures {
  /** Undefined: no session is known by the id. */
  session: NanoUsd | undefined;
  today: NanoUsd;
  /** The budget with the least room for the session's next request; undefined without budgets. */
  tightest: { name: string; left: NanoUsd } | undefined;
  /** Windows of subscriptions that have not reset. */
  windows: { name: string; used: number }[];
}

interface StatusQuery {
  /** The agent's own id of its session. */
  sessionId: string;
  calendar: Calendar;
  now: number;
}

/** Opens a database only to read it: without the checks and migrations that take a moment. Undefined without a file. */
export function openToRead(path: string): Db | undefined {
  return orElse(() => new Database(path, { readonly: true, fileMustExist: true, timeout: 200 }), undefined);
}

export function readStatusFigures(db: Db, { sessionId, calendar, now }: StatusQuery): StatusFigures {
  const { start, end } = calendar.day(now);
  const today = db
    .prepare<[number, number], NanoUsd>(`SELECT coalesce(sum(cost_nano_usd), 0) FROM usage
      WHERE source = ${SOURCES.gw} AND bucket >= ? AND bucket < ?`)
    .pluck()
    .get(start, end);
  const sessions = db
    .prepare<[string], SessionRow>(`
      SELECT s.id, s.project_id AS projectId, a.name AS agent, r.name AS repo, s.cost_nano_usd + coalesce(
        (SELECT sum(cost_nano_usd) FROM journal WHERE state > 0 AND session_id = s.id), 0) AS cost
      FROM sessions s JOIN names a ON a.id = s.agent_id JOIN names r ON r.id = s.repo_id
      WHERE s.external_id = ? ORDER BY s.last_at DESC`)
    .all(sessionId);
  const [last] = sessions;
  const request = {
    keyId: last ? (lastKey(db, last.id) ?? 0) : 0,
    repo: last?.repo ?? '',
    agent: last?.agent ?? '',
    session: sessionId,
    // Caps of models and labels are for some of a session's requests.
    provider: '',
    model: '',
  };
  const standings = readStandingsFor(db, { projectId: last?.projectId ?? 1, request, calendar, now });
  const left = standings.map((standing) => ({ name: budgetLabel(standing.budget), left: leftOf(standing) }));
  return {
    session: last && sessions.reduce((sum, { cost }) => sum + cost, 0),
    today: today ?? 0,
    tightest: left.sort((a, b) => a.left - b.left)[0],
    windows: windowsOf(db, last?.agent, now),
  };
}

/** Those of the agent's own service; of all services for an agent without one. */
function windowsOf(db: Db, agent: string | undefined, now: number): StatusFigures['windows'] {
  const all = listLimits(db).filter(({ resetsAt }) => resetsAt > now);
  const service = agent === 'codex' ? 'chatgpt' : agent === 'claude' ? 'anthropic' : undefined;
  return all
    .filter((row) => service === undefined || row.service === service)
    .map(({ window, model, usedPpm }) => ({
      name: model === '' ? window : `${window} ${model}`,
      used: usedPpm / 1e6,
    }));
}

interface SessionRow {
  id: number;
  projectId: number;
  agent: string;
  repo: string;
  cost: NanoUsd;
}

function lastKey(db: Db, sessionId: number): number | undefined {
  return db
    .prepare<[{ id: number }], number>(`SELECT key_id FROM (SELECT id, key_id FROM journal
      WHERE session_id = @id UNION ALL SELECT * FROM (SELECT id, key_id FROM requests WHERE session_id = @id
      AND session_id <> 0 ORDER BY id DESC LIMIT 1)) ORDER BY id DESC LIMIT 1`)
    .pluck()
    .get({ id: sessionId });
}
