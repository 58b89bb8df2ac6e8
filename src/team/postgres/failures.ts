import { GwError } from '../../errors.ts';

/** Target of a connection, for messages; excludes the password. */
export interface Place {
  host: string;
  port: number;
  database: string;
  user: string;
  schema: string;
}

/** Temporary failure: a later attempt may succeed. */
export function unreachable(place: Place, why: string, cause?: unknown): GwError {
  return new GwError(
    `The team's PostgreSQL at ${place.host}:${place.port} can't be reached: ${why}. Check that it runs and that this machine can reach it, then try again`,
    { status: 503, type: 'api_error', code: 'team_unreachable', headers: { 'retry-after': '5' }, cause },
  );
}

const forbidden = (message: string, cause?: unknown) =>
  new GwError(message, { status: 403, type: 'permission_error', code: 'team_forbidden', cause });
const misfit = (message: string, code: string, cause?: unknown) =>
  new GwError(message, { status: 500, type: 'api_error', code, cause });

/** The server's schema version differs from this gw's. */
export function otherVersion(found: number, known: number): GwError {
  return found > known
    ? misfit(
        `The team's schema is version ${found}; this gw knows up to ${known}. Update gw on this machine, then try again`,
        'team_schema',
      )
    : misfit(
        `The team's schema is version ${found}; this gw needs ${known}. An admin upgrades it with: gw team create URL`,
        'team_schema',
      );
}

const PLAIN_NETWORK: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there (ECONNREFUSED)',
  ENOTFOUND: 'there is no such host (ENOTFOUND)',
  EAI_AGAIN: 'its name could not be looked up (EAI_AGAIN)',
  ECONNRESET: 'it closed the connection (ECONNRESET)',
  ETIMEDOUT: 'it does not answer (ETIMEDOUT)',
  EHOSTUNREACH: 'there is no route to it (EHOSTUNREACH)',
};

export function lacksRight(
  { schema, user }: Place,
  kind: 'member' | 'courier' | 'admin',
  why: string,
  cause?: unknown,
): GwError {
  return forbidden(
    `PostgreSQL role ${user} lacks a right: ${why}. An admin grants it: GRANT ${schema}_${kind} TO ${user}`,
    cause,
  );
}

/** Converts an error of PostgreSQL or the driver to one that says what to do. */
export function teamError(error: unknown, place: Place): GwError {
  if (error instanceof GwError) return error;
  const { code = '', message } = error as { code?: string; message: string };
  const { database, host, schema, user } = place;
  const at = `"${database}" on ${host}`;
  switch (code) {
    case '28P01':
    case '28000':
      return forbidden(
        `PostgreSQL refused ${user}: ${message}. Check the user and password in the URL, or ask the team's admin`,
        error,
      );
    case '3D000':
      return misfit(
        `There is no database "${database}" on ${host}. Check the end of the URL, or create it: createdb ${database}`,
        'team_missing',
        error,
      );
    case '3F000':
    case '42883':
    case '42P01':
      return misfit(
        `There is no team in schema ${schema} of database ${at}. An admin creates it with: gw team create URL`,
        'team_missing',
        error,
      );
    case '42501':
      return lacksRight(place, kindFor(message), message, error);
    case 'GW001':
      return forbidden(
        `The team does not know this gateway by its token and the role ${user}. Join again: gw team join URL`,
        error,
      );
    case 'GW002':
      return misfit(
        `${message}. Set it for the role: ALTER ROLE ${user} SET default_transaction_isolation = 'read committed'`,
        'team_isolation',
        error,
      );
    case 'GW003':
      return new GwError(`${sentence(message)}. List them: gw team members`, {
        status: 404,
        type: 'not_found_error',
        code: 'gateway_not_found',
        cause: error,
      });
    case '25006':
      return unreachable(place, 'it is a read-only standby; the URL has to lead to the primary', error);
    default:
      return tlsError(code, message, place, error) ?? networkError(code, message, place, error);
  }
}

/** The group to grant: `member` if the role can't use the schema, else the group that may call the function. */
function kindFor(message: string): 'member' | 'courier' | 'admin' {
  const [, name] = /for function (\w+)/.exec(message) ?? [];
  if (name === undefined) return 'member';
  return ['claim_events', 'finish_delivery'].includes(name) ? 'courier' : 'admin';
}

function tlsError(code: string, message: string, place: Place, cause: unknown): GwError | undefined {
  if (/does not support SSL/i.test(message)) {
    return misfit(
      `PostgreSQL at ${place.host} offers no TLS, and gw sends no password without it. Switch ssl on there; in a network that you trust, add ?sslmode=disable to the URL`,
      'team_tls',
      cause,
    );
  }
  if (!/CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|ERR_TLS/.test(code)) return undefined;
  return misfit(
    `The TLS certificate of ${place.host} can't be verified: ${message}. Add its authority's file: ?sslrootcert=FILE, and use the host name that the certificate has`,
    'team_tls',
    cause,
  );
}

function networkError(code: string, message: string, place: Place, cause: unknown): GwError {
  const network = PLAIN_NETWORK[code];
  if (network) return unreachable(place, network, cause);
  // Class 08: connection; 53: resources; 57: the server is shutting down or starting.
  if (/^(08|53|57)/.test(code) || code.length !== 5) return unreachable(place, message, cause);
  return misfit(`The team's PostgreSQL answered: ${message} (${code})`, 'team_failed', cause);
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
