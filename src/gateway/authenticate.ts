import { GwError } from '../errors.ts';
import type { Caller } from '../store/callers.ts';
import { hashKey } from '../store/keys.ts';

/** Tells whose bearer token it is; remembers recent tokens, so that a hash and a query are paid once per key. */
export interface Authenticator {
  /** The caller behind an `authorization` header. Throws GwError 401. */
  authenticate(authorization: string | undefined): Caller;
  /** Forgets all: keys, projects or plans have changed. */
  forget(): void;
}

const MAX_REMEMBERED = 10_000;

export function createAuthenticator(lookUp: (keyHash: Buffer) => Caller | undefined): Authenticator {
  const remembered = new Map<string, Caller>();
  return {
    authenticate(authorization) {
      const known = authorization === undefined ? undefined : remembered.get(authorization);
      if (known) return known;
      const caller = lookUp(hashKey(bearerOf(authorization)));
      if (!caller) throw invalidKey('this API key is not known to gw, or was revoked. See: gw keys list');
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(authorization ?? '', caller);
      return caller;
    },
    forget: () => remembered.clear(),
  };
}

function bearerOf(authorization: string | undefined): string {
  const match = /^Bearer +(\S+) *$/i.exec(authorization ?? '');
  if (match?.[1]) return match[1];
  throw invalidKey('no API key: send the header "Authorization: Bearer KEY". To get one: eval "$(gw env)"');
}

function invalidKey(message: string): GwError {
  return new GwError(message, { status: 401, type: 'authentication_error', code: 'invalid_api_key' });
}
