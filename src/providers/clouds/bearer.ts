import type { Signer } from './cloud.ts';
import { type Credential, renewing } from './renewing.ts';

/** Authenticates by a token that expires. `explain` tells the user what to do if there is none. */
export function createBearer(
  fetch: (isForced: boolean) => Promise<Credential<string>>,
  explain: (reason: string) => string,
): Signer {
  const source = renewing(fetch, explain);
  return {
    sign: async () => ['authorization', `Bearer ${await source.get()}`],
    hasExpired(status, _body, [, header = '']) {
      if (status !== 401) return false;
      source.drop(header.slice('Bearer '.length));
      return true;
    },
    expiresAt: source.expiresAt,
  };
}
