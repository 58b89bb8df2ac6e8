import type { IncomingHttpHeaders } from 'node:http';
import { GwError } from '../../errors.ts';
import { loginIn, OWN_KEY_HEADER } from '../../providers/subscriptions.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { hashKey } from '../../store/accounts/keys.ts';

/** Finds the caller of a request by its gw key. Caches callers, so that a key is hashed and looked up once. */
export interface Authenticator {
  /**
   * The caller behind `x-gw-key`, or without that, `authorization: Bearer`, `x-api-key` (Anthropic's clients) or
   * `api-key` (Azure's). Throws GwError 401, `key_expired` for a
   * key that has expired.
   */
  authenticate(headers: IncomingHttpHeaders): Caller;
  /** The same, undefined instead of an error. */
  recognize(headers: IncomingHttpHeaders): Caller | undefined;
  /** Clears the cache after keys or projects have changed. */
  forget(): void;
}

const MAX_CACHED = 10_000;

/** `now`: UTC milliseconds. */
export function createAuthenticator(
  lookUp: (keyHash: Buffer) => Caller | undefined,
  now: () => number,
): Authenticator {
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
    const apiKey = otherKey(headers);
    return (
      (authorization === undefined ? undefined : find(authorization)) ??
      (typeof apiKey === 'string' ? find(`Bearer ${apiKey}`) : undefined)
    );
  }

  const isExpired = ({ expiresAt }: Caller) => expiresAt !== null && now() >= expiresAt;

  return {
    recognize(headers) {
      const caller = findAny(headers);
      return caller && !isExpired(caller) ? caller : undefined;
    },
    authenticate(headers) {
      const caller = findAny(headers);
      if (caller && isExpired(caller)) throw expiredKey(caller);
      if (caller) return caller;
      if (headers[OWN_KEY_HEADER] === undefined && loginIn(headers)) {
        throw invalidKey(
          "this is a login of the client's own, and no key of gw. To use it through gw: gw run --subscription -- AGENT",
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
    forget: () => cache.clear(),
  };
}

/** The key in the header of Anthropic's clients, or of Azure's; else gw's own header, which is not a known key. */
function otherKey(headers: IncomingHttpHeaders): string | string[] | undefined {
  return headers['x-api-key'] ?? headers['api-key'] ?? headers[OWN_KEY_HEADER];
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
