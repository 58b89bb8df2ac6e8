import type { Client } from 'pg';
import { installTeam } from '../../src/team/postgres/install.ts';
import { connectTo, type Postgres, startPostgres } from '../support/postgres.ts';

export const DAY_MS = 86_400_000;

/** A PostgreSQL with a team: logins ann and bob are members, carl a courier too, boss an admin. */
export interface TeamServer {
  server: Postgres;
  /** The superuser, in the team's schema. */
  su: Client;
  url(user: string): string;
  /** The authority's clock stands at this time. */
  setClock(at: number): Promise<void>;
  /** Nobody has joined, there are no budgets; the time zone is as given. */
  reset(options?: { timezone?: string }): Promise<void>;
  /** After a restart of the server. */
  reconnect(): Promise<void>;
  end(): Promise<void>;
}

const LOGINS = { ann: 'member', bob: 'member', carl: 'courier', boss: 'admin' };

export async function startTeam(settings: Record<string, string | number> = {}): Promise<TeamServer> {
  const server = await startPostgres({ settings });
  await installTeam(server.url(), { name: 'acme', timezone: 'UTC' });
  const su = await connectTo(server.url());
  const logins = Object.entries(LOGINS).map(
    ([login, kind]) => `CREATE ROLE ${login} LOGIN IN ROLE gw_team_${kind};`,
  );
  await su.query(`${logins.join('')} CREATE ROLE stranger LOGIN;
    SET search_path = gw_team;
    CREATE TABLE test_clock AS SELECT NULL::bigint AS at;
    CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
      SELECT coalesce((SELECT at FROM gw_team.test_clock), (extract(epoch FROM clock_timestamp()) * 1000)::bigint) $$;
    ALTER TABLE test_clock OWNER TO gw_team_owner;`);
  const team: TeamServer = {
    server,
    su,
    url: (user) => server.url('postgres', user),
    setClock: async (at) => void (await team.su.query('UPDATE test_clock SET at = $1', [at])),
    async reset({ timezone = 'UTC' } = {}) {
      await team.su.query(
        'TRUNCATE periods, allowances, budgets, gateways, events, deliveries, webhooks, courier, usage_hours, keys, audit RESTART IDENTITY CASCADE; UPDATE test_clock SET at = NULL',
      );
      await team.su.query(
        'UPDATE team SET timezone = $1, frozen_since = NULL, min_slice = 10000000, divisor = 2',
        [timezone],
      );
    },
    async reconnect() {
      team.su = await connectTo(server.url());
      await team.su.query('SET search_path = gw_team');
    },
    async end() {
      await team.su.end().catch(() => {});
      await server.remove();
    },
  };
  return team;
}

/** Breaks a function of the schema on purpose. Returns what puts it back. */
export async function breakFunction(
  su: Client,
  name: string,
  from: string,
  to: string,
): Promise<() => Promise<void>> {
  const { rows } = await su.query<{ body: string }>('SELECT pg_get_functiondef($1::regproc) AS body', [name]);
  const body = rows[0]?.body ?? '';
  if (!body.includes(from)) throw new Error(`${name} has no "${from}"`);
  await su.query(body.replace(from, to));
  return async () => void (await su.query(body));
}
