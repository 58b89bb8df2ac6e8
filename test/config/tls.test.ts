import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTls } from '../../src/config/tls.ts';
import { makeCertificate } from '../support/certificate.ts';
import { tmpHome } from '../support/tmp-home.ts';

const NOW = Date.UTC(2026, 10, 1);

const reading = (cert: string, key: string) =>
  readTls({ 'server.tls_cert': cert, 'server.tls_key': key }, NOW);

/** The message of the error, without its last sentence, which names the flags. */
function refusal(cert: string, key: string): string {
  try {
    reading(cert, key);
  } catch (error) {
    const [, why] =
      /^(.*)\. Both are needed for https: gw start --tls-cert FILE --tls-key FILE$/.exec(
        (error as Error).message,
      ) ?? [];
    return why ?? String(error);
  }
  throw new Error('the files were accepted');
}

test('readTls() returns the pair and its end, and nothing without settings', () => {
  const { certFile, keyFile, cert, key } = makeCertificate({ to: '20270101' });
  expect(reading(certFile, keyFile)).toEqual({ cert, key, validUntil: Date.UTC(2027, 0, 1) });
  expect(reading('', '')).toBeUndefined();
});

test('readTls() names the file that cannot be used, and why', () => {
  const { certFile, keyFile } = makeCertificate();
  const other = makeCertificate();
  const folder = join(tmpHome(), 'folder');
  mkdirSync(folder);
  const text = join(folder, 'text.pem');
  writeFileSync(text, 'not PEM');
  const locked = join(folder, 'locked.pem');
  execFileSync('openssl', ['ec', '-aes256', '-passout', 'pass:secret', '-in', keyFile, '-out', locked], {
    stdio: 'pipe',
  });
  expect([
    refusal(certFile, ''),
    refusal('', keyFile),
    refusal('/nowhere.pem', keyFile),
    refusal(folder, keyFile),
    refusal(text, keyFile),
    refusal(certFile, text),
    refusal(certFile, locked),
    refusal(certFile, other.keyFile),
  ]).toEqual([
    `server.tls_cert is set to ${certFile}, but server.tls_key is not`,
    `server.tls_key is set to ${keyFile}, but server.tls_cert is not`,
    'cannot read /nowhere.pem: there is no such file',
    `cannot read ${folder}: EISDIR: illegal operation on a directory`,
    `${text} is not a certificate in PEM`,
    `${text} is not a private key in PEM`,
    `${locked} is encrypted: gw needs a private key in PEM`,
    `the key in ${other.keyFile} does not belong to the certificate in ${certFile}`,
  ]);
});

test('readTls() refuses a certificate before and after its time', () => {
  const old = makeCertificate({ from: '20200101', to: '20210101' });
  const early = makeCertificate({ from: '20270101', to: '20280101' });
  expect(refusal(old.certFile, old.keyFile)).toBe(
    `the certificate in ${old.certFile} expired on Jan  1 00:00:00 2021 GMT`,
  );
  expect(refusal(early.certFile, early.keyFile)).toBe(
    `the certificate in ${early.certFile} is not valid before Jan  1 00:00:00 2027 GMT`,
  );
});
