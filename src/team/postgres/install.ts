import type { Client } from 'pg';
import { badRequest } from '../../errors.ts';
import { openClient, parseTeamUrl } from './connect.ts';
import { otherVersion, teamError } from './failures.ts';
import { migrationsAfter, schemaVersion, sqlOf } from './migrations.ts';

export interface NewTeam {
  name: string;
  /** IANA name. */
  timezone: string;
}

export type InstallResult =
  | { outcome: 'created' | 'upgraded' | 'current'; schema: string; detectsFailover: boolean }
  /** The role may not create roles or schemas; a privileged role has to run `sql`. */
  | { outcome: 'needs_rights'; user: string; sql: string };

/**
 * Creates the schema and the roles, or upgrades them to this version. Concurrent runs are serialized. Throws GwError.
 */
export async function installTeam(url: string, team: NewTeam): Promise<InstallResult> {
  const target = parseTeamUrl(url);
  const { schema, user } = target.place;
  // A migration may exceed the daemon's query timeout.
  const client = await openClient({ ...target, config: { ...target.config, query_timeout: 600_000 } });
  try {
    const found = await versionOf(client, schema);
    const known = schemaVersion();
    if (found > known) throw otherVersion(found, known);
    await checkZone(client, team.timezone);
    if (found === 0 && !(await mayInstall(client)))
      return { outcome: 'needs_rights', user, sql: `BEGIN;\n${installSql(schema, team)}COMMIT;\n` };
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`${schema}.install`]);
    // Another gw may have installed the schema in the meantime.
    const before = await versionOf(client, schema);
    await client.query(before === 0 ? installSql(schema, team) : upgradeSql(schema, before));
    await client.query('COMMIT');
    const detectsFailover = await detects(client, schema);
    const outcome = before === 0 ? 'created' : before < known ? 'upgraded' : 'current';
    return { outcome, schema, detectsFailover };
  } catch (error) {
    throw teamError(error, target.place);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The installed version; 0 if there is no schema. */
async function versionOf(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ found: boolean }>(
    "SELECT to_regproc($1) IS NOT NULL AND has_schema_privilege($2, 'USAGE') AS found FROM pg_namespace WHERE nspname = $2",
    [`${schema}.schema_version`, schema],
  );
  if (!rows[0]?.found) return 0;
  const { rows: versions } = await client.query<{ version: number }>(
    `SELECT ${schema}.schema_version() AS version`,
  );
  return versions[0]?.version ?? 0;
}

async function mayInstall(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(`
    SELECT rolsuper OR (rolcreaterole AND has_database_privilege(current_database(), 'CREATE')) AS may
    FROM pg_roles WHERE rolname = current_user`);
  return rows[0]?.may === true;
}

async function checkZone(client: Client, timezone: string): Promise<void> {
  const { rows } = await client.query('SELECT FROM pg_timezone_names WHERE name = $1', [timezone]);
  if (rows.length === 0)
    throw badRequest(`PostgreSQL knows no time zone "${timezone}". Use an IANA name such as Europe/Berlin`);
}

async function detects(client: Client, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ status: { detectsFailover: boolean } }>(
    `SELECT ${schema}.team_status() AS status`,
  );
  return rows[0]?.status.detectsFailover === true;
}

function installSql(schema: string, { name, timezone }: NewTeam): string {
  const [quotedName, quotedZone] = [quoted(name), quoted(timezone)];
  return [
    sqlOf('roles.sql', schema),
    upgradeSql(schema, 0, [
      // Some hosts forbid these functions; an admin then has to report failovers.
      `DO $$ DECLARE incarnation text := 'manual'; BEGIN
  BEGIN incarnation := ${schema}.incarnation_now(); EXCEPTION WHEN OTHERS THEN NULL; END;
  INSERT INTO ${schema}.team (name, timezone, incarnation) VALUES (${quotedName}, ${quotedZone}, incarnation);
END $$;`,
    ]),
  ].join('\n');
}

function upgradeSql(schema: string, before: number, after: readonly string[] = []): string {
  return [
    `SET LOCAL ROLE ${schema}_owner;`,
    `SET LOCAL search_path = ${schema}, pg_temp;`,
    ...migrationsAfter(before).flatMap(({ version, file }) => [
      sqlOf(file, schema),
      `INSERT INTO ${schema}.migrations (version) VALUES (${version});`,
    ]),
    ...after,
    sqlOf('rights.sql', schema),
    'RESET ROLE;',
  ].join('\n');
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
