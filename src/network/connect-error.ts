import { messageOf } from '../errors.ts';
import { type WayOut, wayText } from './way-out.ts';

/** A connection that couldn't be opened. `message` explains why; `code` is the cause's code. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** OpenSSL's codes for a certificate from an untrusted issuer. */
const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Whether an error code means that the peer's certificate was refused. */
export function isCertificateError(code: string | undefined): boolean {
  return code !== undefined && (UNTRUSTED.has(code) || /^(CERT_|ERR_TLS_CERT_)/.test(code));
}

/** Explains a connection error that a proxy or a certificate caused; returns other errors unchanged. */
export function describeConnectError(error: Error, origin: string, way: WayOut): Error {
  const { code } = error as NodeJS.ErrnoException;
  const host = new URL(origin).hostname;
  const through = way.proxy ? ` ${wayText(way)}` : '';
  // undici reports a refused tunnel only by this message.
  const status = /Proxy response \((\d+)\)/.exec(messageOf(error))?.[1];
  // tinyproxy responds to wrong credentials with 401: https://github.com/tinyproxy/tinyproxy/blob/master/src/reqs.c
  if (status === '407' || status === '401')
    return new ConnectError(proxyWantsPassword(way, Number(status)), 'PROXY_AUTH', error);
  if (status !== undefined) {
    const why = `the proxy answers HTTP ${status} and does not connect to ${host}${through}`;
    return new ConnectError(why, 'PROXY_REFUSED', error);
  }
  if (isCertificateError(code)) {
    const why = UNTRUSTED.has(code ?? '')
      ? `the certificate of ${host} is signed by an authority that gw does not trust (${code})${through}. To trust your company's: gw config set tls.ca_file FILE`
      : `the certificate of ${host} is not valid (${code}): ${messageOf(error)}${through}`;
    return new ConnectError(why, code, error);
  }
  if (!way.proxy) return error;
  return new ConnectError(`${messageOf(error) || code}, ${wayText(way)}`, code, error);
}

/** Message for a proxy that requires credentials or refuses those sent. */
export function proxyWantsPassword(way: WayOut, status = 407): string {
  return `the proxy wants a user and password, or others than it got (HTTP ${status}), ${wayText(way)}. Give them as http://USER:PASSWORD@HOST:PORT`;
}
