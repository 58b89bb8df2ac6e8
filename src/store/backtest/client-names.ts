import type { Db } from '../database/open.ts';
import type { Stopped } from './backtest.ts';

export interface ClientNames {
  /** The label of the key, or its last characters. */
  key: string | null;
  agent: string | null;
  session: string | null;
}

/** Looks up the names of clients that a cap would have stopped; null where they aren't known. */
export function createClientNames(
  db: Db,
): (client: Pick<Stopped, 'keyId' | 'agentId' | 'sessionId'>) => ClientNames {
  const key = db.prepare<[number], string>('SELECT coalesce(label, hint) FROM keys WHERE id = ?').pluck();
  const agent = db.prepare<[number], string>('SELECT name FROM names WHERE id = ?').pluck();
  const session = db.prepare<[number], string>('SELECT external_id FROM sessions WHERE id = ?').pluck();
  return ({ keyId, agentId, sessionId }) => ({
    key: key.get(keyId) ?? null,
    agent: agent.get(agentId) || null,
    session: session.get(sessionId) || null,
  });
}
