import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpHome } from './tmp-home.ts';

export interface Certificate {
  certFile: string;
  keyFile: string;
  cert: string;
  key: string;
}

/** A self-signed certificate for a name, made by openssl; `from` and `to` are dates such as 20200101. */
export function makeCertificate({
  name = 'localhost',
  from = '20200101',
  to = '20990101',
} = {}): Certificate {
  const folder = tmpHome();
  const file = (base: string) => join(folder, base);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  writeFileSync(file('index.txt'), '');
  writeFileSync(
    file('ca.cnf'),
    `[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=any\nx509_extensions=ext\n[any]\ncommonName=supplied\n[ext]\nsubjectAltName=DNS:${name},IP:127.0.0.1\nbasicConstraints=CA:TRUE\n`,
  );
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'key.pem');
  openssl('req', '-new', '-key', 'key.pem', '-subj', `/CN=${name}`, '-out', 'request.pem');
  const dates = ['-startdate', `${from}000000Z`, '-enddate', `${to}000000Z`];
  openssl(
    ...['ca', '-batch', '-selfsign', '-config', 'ca.cnf', '-keyfile', 'key.pem', '-in', 'request.pem'],
    ...['-notext', '-out', 'cert.pem', ...dates],
  );
  const certFile = file('cert.pem');
  const keyFile = file('key.pem');
  return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
}

/** A certificate for some hosts, and the authority that issued it: what a proxy that reads TLS shows. */
export function issueCertificate(names: readonly string[]): Certificate & { authorityFile: string } {
  const { certFile: authorityFile, keyFile: authorityKey } = makeCertificate({ name: 'Own authority' });
  const folder = tmpHome();
  const file = (base: string) => join(folder, base);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  writeFileSync(file('leaf.ext'), `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}\n`);
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'key.pem');
  openssl('req', '-new', '-key', 'key.pem', '-subj', `/CN=${names[0]}`, '-out', 'request.pem');
  openssl(
    ...['x509', '-req', '-in', 'request.pem', '-CA', authorityFile, '-CAkey', authorityKey, '-days', '30'],
    ...['-extfile', 'leaf.ext', '-out', 'cert.pem'],
  );
  const certFile = file('cert.pem');
  const keyFile = file('key.pem');
  return {
    ...{ authorityFile, certFile, keyFile },
    ...{ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') },
  };
}
