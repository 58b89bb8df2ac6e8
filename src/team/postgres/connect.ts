import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { Client, ClientConfig } from 'pg';
import { badRequest, messageOf } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';
import { otherVersion, type Place, teamError, unreachable } from './failures.ts';
import { schemaVersion } from './migrations.ts';

/** Earlier versions lack functions that the schema uses. */
const MIN_SERVER = 140_000;
const TIMEOUT_MS = 5_000;
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,40}$/;
const INT8 = 20;

/** A parsed connection string. */
export interface TeamUrl {
  place: Place;
  config: ClientConfig;
}

/**
 * Parses `postgres://user:password@host:port/database?sslmode=...&sslrootcert=FILE&schema=NAME`. Without sslmode, any
 * host except this machine needs a certificate that verifies. Throws GwError 400.
 */
export function parseTeamUrl(text: string): TeamUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw badRequest(
      `"${withoutPassword(text)}" is not a PostgreSQL URL. Use postgres://USER:PASSWORD@HOST:5432/DATABASE`,
    );
  }
  const parameters = url.searchParams;
  const host =
    parameters.get('host') ?? (decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') || 'localhost');
  const schema = parameters.get('schema') ?? 'gw_team';
  if (!SCHEMA_NAME.test(schema))
    throw badRequest(`"${schema}" is not a schema name: use lower-case letters, digits and _, at most 41`);
  const user = decodeURIComponent(url.username) || process.env.PGUSER || process.env.USER || 'postgres';
  const place: Place = {
    host,
    port: Number(url.port || 5432),
    database: decodeURIComponent(url.pathname.slice(1)) || user,
    user,
    schema,
  };
  const known = ['host', 'schema', 'sslmode', 'sslrootcert', 'application_name'];
  const unknown = [...parameters.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw badRequest(`The URL has a parameter "${unknown}". Known are: ${known.join(', ')}`);
  return {
    place,
    config: {
      host,
      port: place.port,
      database: place.database,
      user,
      ...(url.password && { password: decodeURIComponent(url.password) }),
      ssl: tlsOf(host, parameters),
      application_name: parameters.get('application_name') ?? 'gw',
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      keepAlive: true,
    },
  };
}

function tlsOf(host: string, parameters: URLSearchParams): false | ConnectionOptions {
  const isLocal = host.startsWith('/') || isLoopback(host);
  const mode = parameters.get('sslmode') ?? (isLocal ? 'disable' : 'verify-full');
  const file = parameters.get('sslrootcert');
  const ca = file === null ? {} : { ca: readCertificate(file) };
  switch (mode) {
    case 'disable':
      return false;
    case 'require':
      return { ...ca, rejectUnauthorized: false };
    case 'verify-ca':
      return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined };
    case 'verify-full':
      return { ...ca, rejectUnauthorized: true };
    default:
      throw badRequest(`sslmode "${mode}" is not one of verify-full, verify-ca, require and disable`);
  }
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw badRequest(`The URL's sslrootcert can't be read: ${messageOf(error)}. Give the path of a PEM file`);
  }
}

/** The URL for display. */
const withoutPassword = (text: string): string => text.replace(/^(\w+:\/\/[^/@:]*):.*@/, '$1:***@');

/** Opens a connection and checks only PostgreSQL's version. Throws GwError. */
export async function openClient({ place, config }: TeamUrl): Promise<Client> {
  // Loaded on the first connection, so never without a team.
  const { default: pg } = await import('pg');
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      // All amounts are below 2^53.
      oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  };
  const client = new pg.Client({ ...config, types: types as typeof pg.types });
  // Without a listener, a lost connection ends the process. The next query reports the loss.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    );
    const version = rows[0]?.version ?? 0;
    if (version < MIN_SERVER) {
      throw badRequest(
        `PostgreSQL at ${place.host} is version ${Math.floor(version / 10_000)}; a team needs 14 or later`,
      );
    }
    return client;
  } catch (error) {
    client.end().catch(() => {});
    throw teamError(error, place);
  }
}

/** Runs statements on one PostgreSQL server, over one connection at a time. */
export interface TeamConnection {
  place: Place;
  /** Returns the rows. Throws GwError. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

interface IdleOptions {
  /** Closes the connection after this long without a query; the next query opens a new one. */
  idleMs?: number;
}

/** Connects on the first query. Checks the schema's version on each connection. */
export function createConnection(url: TeamUrl, { idleMs = 30_000 }: IdleOptions = {}): TeamConnection {
  const { place } = url;
  let opening: Promise<Client> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let running = 0;
  let previous: Promise<void> = Promise.resolve();
  const open = async () => {
    const client = await openClient(url);
    try {
      await checkVersion(client, place);
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
    return client;
  };
  const drop = () => {
    const dropped = opening;
    opening = undefined;
    return dropped?.then(
      (client) => client.end().catch(() => {}),
      () => {},
    );
  };
  /** A restarting server closes idle connections; the next query then opens a new one. */
  const openAnew = () => {
    const mine = open();
    const forget = () => {
      if (opening === mine) opening = undefined;
    };
    mine.then(
      (client) => client.once('error', forget).once('end', forget),
      () => {},
    );
    return mine;
  };
  const run = async <Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> => {
    opening ??= openAnew();
    const mine: Promise<Client> | undefined = opening;
    try {
      const client = await mine;
      const { rows } = await client.query<Row>(text, [...values]);
      return rows;
    } catch (error) {
      const failure = teamError(error, place);
      // The connection's state is unknown, or its server has become a standby.
      if (opening === mine && mayBeBroken(error, failure.code)) drop();
      throw failure;
    } finally {
      if (--running === 0) timer = setTimeout(() => void drop(), idleMs).unref();
    }
  };
  return {
    place,
    query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      clearTimeout(timer);
      running++;
      // One query at a time: the driver's own queue is deprecated, and its timeout would include the wait.
      const result = previous.then(() => run<Row>(text, values));
      previous = result.then(
        () => {},
        () => {},
      );
      return result;
    },
    async close() {
      clearTimeout(timer);
      await drop();
    },
  };
}

function mayBeBroken(error: unknown, code: string): boolean {
  const { severity } = error as { severity?: string };
  return severity !== 'ERROR' || code === 'team_unreachable';
}

async function checkVersion(client: Client, place: Place): Promise<void> {
  try {
    const { rows } = await client.query<{ version: number }>(
      `SELECT ${place.schema}.schema_version() AS version`,
    );
    const found = rows[0]?.version;
    if (found === undefined) throw unreachable(place, 'it did not tell the version of its schema');
    const known = schemaVersion();
    if (found !== known) throw otherVersion(found, known);
  } catch (error) {
    throw teamError(error, place);
  }
}
