import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { GwError, messageOf } from '../errors.ts';
import type { Environment } from './way-out.ts';

/** Trusts the authorities that Node trusts by itself, and those in a PEM file. Throws a GwError if it can't be used. */
export function trustedBy(caFile: string, env: Environment): SecureContext {
  try {
    return createSecureContext({ ca: [...defaultAuthorities(env), readFileSync(caFile, 'utf8')] });
  } catch (error) {
    throw new GwError(
      `the authorities of tls.ca_file can't be used: ${messageOf(error)}. To do without: gw config unset tls.ca_file`,
      { status: 503, type: 'api_error', code: 'tls_unusable', cause: error },
    );
  }
}

/** A `ca` replaces all that Node trusts by itself (https://nodejs.org/api/tls.html#tlscreatesecurecontextoptions). */
function defaultAuthorities(env: Environment): readonly string[] {
  // Since Node 22.15; it includes NODE_EXTRA_CA_CERTS.
  if ('getCACertificates' in tls) return (tls.getCACertificates as () => string[])();
  const extra = env.NODE_EXTRA_CA_CERTS;
  return extra ? [...rootCertificates, ...readIfThere(extra)] : rootCertificates;
}

/** Node warns of a file that it can't read, and goes on. */
function readIfThere(file: string): string[] {
  try {
    return [readFileSync(file, 'utf8')];
  } catch {
    return [];
  }
}
