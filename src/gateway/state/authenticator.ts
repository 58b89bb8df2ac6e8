import type { IncomingHttpHeaders } from 'node:http';
import { GwError } from '../../errors.ts';
import { loginIn, OWN_KEY_HEADER } from '../../providers/subscriptions.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { hashKey } from '../../store/accounts/keys.ts';

/** Finds the caller of a request by its gw key. Caches callers, so that a key is hashed and looked up once. */
export type Authenticator = ReturnType<typeof createAuthenticator>;

const MAX_CACHED = 10_000;

/** Freshness of the copies of the team's keys. */
export interface TeamKeyAge {
  /** When they were last known to be right, UTC milliseconds; 0: never. */
  checkedAt(): number;
  /** How long they stay valid from then on. */
  cacheMs(): number;
}

/** `now`: UTC milliseconds. */
export function createAuthenticator(
  lookUp: (keyHash: Buffer) => Caller | undefined,
  now: () => number,
  teamKeys: TeamKeyAge,
) {
  let checkedAt = 0;
  /** By `authorization` header. */
  const cache = new Map<string, Caller>();

  function find(authorization: string): Caller | undefined {
    const cached = cache.get(authorization);
    if (cached) return cached;
    const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    const caller = key === undefined ? undefined : lookUp(hashKey(key));
    if (!caller) return undefined;
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(authorization, caller);
    return caller;
  }

  function findAny(headers: IncomingHttpHeaders): Caller | undefined {
    const { authorization } = headers;
    const ownKey = headers[OWN_KEY_HEADER];
    if (typeof ownKey === 'string') return find(`Bearer ${ownKey}`);
    const apiKey = otherKey(headers) ?? accessKeyIn(authorization);
    return (
      (authorization === undefined ? undefined : find(authorization)) ??
      (typeof apiKey === 'string' ? find(`Bearer ${apiKey}`) : undefined)
    );
  }

  const isExpired = ({ expiresAt }: Caller) => expiresAt !== null && now() >= expiresAt;

  const isRecent = (at: number) => Math.abs(now() - at) < teamKeys.cacheMs();

  /** The last check is read again only when the one that was read has become too old. */
  function isStale({ isTeam }: Caller): boolean {
    if (!isTeam || isRecent(checkedAt)) return false;
    checkedAt = teamKeys.checkedAt();
    return !isRecent(checkedAt);
  }

  return {
    /** Like `authenticate`, but returns undefined instead of throwing. */
    recognize(headers: IncomingHttpHeaders): Caller | undefined {
      const caller = findAny(headers);
      return caller && !isExpired(caller) && !isStale(caller) ? caller : undefined;
    },
    /**
     * The caller behind `x-gw-key`, or without that, `authorization: Bearer`, `x-api-key` (Anthropic's clients),
     * `api-key` (Azure's), `x-goog-api-key` (Google's), or the access key of a signature (AWS's). Throws GwError 401,
     * `key_expired` for a key that has expired, and 503 for a key of the team whose copy is too old.
     */
    authenticate(headers: IncomingHttpHeaders): Caller {
      const caller = findAny(headers);
      if (caller && isExpired(caller)) throw expiredKey(caller);
      if (caller && isStale(caller)) throw staleKey(caller, checkedAt);
      if (caller) return caller;
      if (headers[OWN_KEY_HEADER] === undefined && loginIn(headers)) {
        throw invalidKey(
          "this is a login of the client's own, and no key of gw. To use it through gw: gw run --subscription -- AGENT",
        );
      }
      if (accessKeyIn(headers.authorization) !== undefined) {
        throw invalidKey(
          "this request is signed with AWS's credentials, which gw can't check. Set AWS_BEARER_TOKEN_BEDROCK to a key of gw, or make it the client's access key, with any secret. To get one: gw env",
        );
      }
      if (isBearer(headers.authorization) || otherKey(headers) !== undefined) {
        throw invalidKey(
          'gw does not know this API key, or it was revoked. To use one that works: eval "$(gw env)", or see: gw keys list',
        );
      }
      throw invalidKey(
        'no API key: send the header "Authorization: Bearer KEY". To get one: eval "$(gw env)"',
      );
    },
    /** Clears the cache after keys or projects have changed. */
    forget: () => cache.clear(),
  };
}

/** Reads `x-api-key`, then `api-key`, `x-goog-api-key` and `x-gw-key`. */
function otherKey(headers: IncomingHttpHeaders): string | string[] | undefined {
  return headers['x-api-key'] ?? headers['api-key'] ?? headers['x-goog-api-key'] ?? headers[OWN_KEY_HEADER];
}

/**
 * The access key of AWS's Signature Version 4, which is sent as it is. A key of gw in its place says who asks, as in any
 * other header. AWS's clients for Python send no bearer token without TLS:
 * https://github.com/boto/botocore/blob/develop/botocore/auth.py (BearerAuth)
 */
function accessKeyIn(authorization: string | undefined): string | undefined {
  return /^AWS4-HMAC-SHA256 +Credential=([^/,\s]+)\//.exec(authorization ?? '')?.[1];
}

function isBearer(authorization: string | undefined): boolean {
  return /^Bearer +\S/i.test(authorization ?? '');
}

function invalidKey(message: string): GwError {
  return new GwError(message, { status: 401, type: 'authentication_error', code: 'invalid_api_key' });
}

function expiredKey({ keyId, expiresAt }: Caller): GwError {
  return new GwError(
    `key ${keyId} expired at ${new Date(expiresAt ?? 0).toISOString()}. To replace it: gw keys rotate ${keyId} --expires 30d, or see: gw keys list`,
    { status: 401, type: 'authentication_error', code: 'key_expired' },
  );
}

function staleKey({ keyId }: Caller, checkedAt: number): GwError {
  const since = checkedAt === 0 ? 'yet' : `since ${new Date(checkedAt).toISOString()}`;
  return new GwError(
    `key ${keyId} is the team's, and the team's PostgreSQL could not be asked whether it was revoked ${since}. See: gw team status. How long a key works without it: gw config set team.key_cache_ms 3600000`,
    { status: 503, type: 'api_error', code: 'team_unreachable', headers: { 'retry-after': '5' } },
  );
}
