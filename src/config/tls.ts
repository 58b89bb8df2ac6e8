import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type GwError, messageOf, unavailable } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import type { Settings } from './settings.ts';

/** A certificate chain and its private key, in PEM. */
export interface TlsIdentity {
  cert: string;
  key: string;
  /** UTC milliseconds. */
  validUntil: number;
}

export type TlsSettings = Pick<Settings, 'server.tls_cert' | 'server.tls_key'>;

/** Whether gw itself serves https. */
export function speaksTls(settings: TlsSettings): boolean {
  return settings['server.tls_cert'] !== '' || settings['server.tls_key'] !== '';
}

/** Warning for a gw that other machines can reach; undefined on loopback. */
export function exposureOf(settings: TlsSettings & Pick<Settings, 'host'>, port: number): string | undefined {
  const { host } = settings;
  if (isLoopback(host)) return undefined;
  const isTls = speaksTls(settings);
  const address = `${isTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const inClear = isTls
    ? ''
    : ' Without TLS, prompts and keys travel in clear text. To encrypt them: gw restart --tls-cert FILE --tls-key FILE.';
  return `gw listens on ${address}: other machines can reach it and need only a key.${inClear} To close it: gw restart --host localhost`;
}

/** Reads certificate and key; undefined if neither is set. Throws a GwError that names the bad file and the problem. */
export function readTls(settings: TlsSettings, now: number): TlsIdentity | undefined {
  if (!speaksTls(settings)) return undefined;
  const { 'server.tls_cert': certFile, 'server.tls_key': keyFile } = settings;
  if (certFile === '') throw unusable(`server.tls_key is set to ${keyFile}, but server.tls_cert is not`);
  if (keyFile === '') throw unusable(`server.tls_cert is set to ${certFile}, but server.tls_key is not`);
  const cert = read(certFile);
  const key = read(keyFile);
  const certificate = parseCertificate(cert, certFile);
  if (!certificate.checkPrivateKey(parseKey(key, keyFile)))
    throw unusable(`the key in ${keyFile} does not belong to the certificate in ${certFile}`);
  const validUntil = Date.parse(certificate.validTo);
  if (validUntil <= now) throw unusable(`the certificate in ${certFile} expired on ${certificate.validTo}`);
  const validFrom = Date.parse(certificate.validFrom);
  if (validFrom > now)
    throw unusable(`the certificate in ${certFile} is not valid before ${certificate.validFrom}`);
  return { cert, key, validUntil };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : messageOf(error).replace(/, \w+( '.*)?$/, '');
    throw unusable(`cannot read ${file}: ${why}`, error);
  }
}

function parseCertificate(cert: string, file: string): X509Certificate {
  try {
    return new X509Certificate(cert);
  } catch (error) {
    throw unusable(`${file} is not a certificate in PEM`, error);
  }
}

function parseKey(key: string, file: string): KeyObject {
  try {
    return createPrivateKey(key);
  } catch (error) {
    const isEncrypted = /ENCRYPTED/.test(key);
    throw unusable(`${file} is ${isEncrypted ? 'encrypted: gw needs a' : 'not a'} private key in PEM`, error);
  }
}

function unusable(why: string, cause?: unknown): GwError {
  const message = `${why}. Both are needed for https: gw start --tls-cert FILE --tls-key FILE`;
  return unavailable(message, 'tls_unusable', cause);
}
