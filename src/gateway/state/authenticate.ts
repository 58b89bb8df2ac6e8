import type { IncomingHttpHeaders } from 'node:http';
import { GwError } from '../../errors.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { hashKey } from '../../store/accounts/keys.ts';

/** Tells whose key a request carries; remembers recent ones, so that a hash and a query are paid once per key. */
export interface Authenticator {
  /** The caller behind `authorization: Bearer`, `x-api-key` (Anthropic's clients) or `api-key` (Azure's). Throws GwError 401. */
  authenticate(headers: IncomingHttpHeaders): Caller;
  /** Forgets all: keys, projects or plans have changed. */
  forget(): void;
}

const MAX_REMEMBERED = 10_000;

export function createAuthenticator(lookUp: (keyHash: Buffer) => Caller | undefined): Authenticator {
  /** By `authorization` header. */
  const remembered = new Map<string, Caller>();

  function find(authorization: string): Caller | undefined {
    const known = remembered.get(authorization);
    if (known) return known;
    const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    const caller = key === undefined ? undefined : lookUp(hashKey(key));
    if (!caller) return undefined;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(authorization, caller);
    return caller;
  }

  return {
    authenticate({ authorization, 'x-api-key': anthropicKey, 'api-key': azureKey }) {
      const apiKey = anthropicKey ?? azureKey;
      const caller =
        (authorization === undefined ? undefined : find(authorization)) ??
        (typeof apiKey === 'string' ? find(`Bearer ${apiKey}`) : undefined);
      if (caller) return caller;
      if (isBearer(authorization) || apiKey !== undefined) {
        throw invalidKey(
          'this API key is not known to gw, or was revoked. To use one that works: eval "$(gw env)", or see: gw keys list',
        );
      }
      throw invalidKey(
        'no API key: send the header "Authorization: Bearer KEY". To get one: eval "$(gw env)"',
      );
    },
    forget: () => remembered.clear(),
  };
}

function isBearer(authorization: string | undefined): boolean {
  return /^Bearer +\S/i.test(authorization ?? '');
}

function invalidKey(message: string): GwError {
  return new GwError(message, { status: 401, type: 'authentication_error', code: 'invalid_api_key' });
}
