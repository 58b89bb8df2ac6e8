import { createRedactor, type Redactor } from '../../../redact.ts';

/** Redactor for a credential in the answers of the provider that it was sent to. */
export type Credentials = (credential: string) => Redactor;

/** Clients' own logins change with each renewal. */
const MAX_CREDENTIALS = 100;

/** Prepares the search for each credential once. */
export function createCredentials(): Credentials {
  const redactors = new Map<string, Redactor>();
  return (credential) => {
    const known = redactors.get(credential);
    if (known) return known;
    if (redactors.size >= MAX_CREDENTIALS) redactors.clear();
    const redactor = createRedactor([credential]);
    redactors.set(credential, redactor);
    return redactor;
  };
}
