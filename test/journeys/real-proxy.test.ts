import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { issueCertificate, makeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { PLAIN, STREAM, startGateway, until } from '../support/gateway.ts';
import { startTlsFront } from '../support/proxy.ts';
import { tmpHome } from '../support/tmp-home.ts';

const isInstalled = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
/** Squid's maker of certificates. */
const CERTGEN = '/usr/lib/squid/security_file_certgen';
const hasTinyproxy = isInstalled('tinyproxy');
const hasSquid = isInstalled('squid') && existsSync(CERTGEN);
if (!hasTinyproxy || !hasSquid)
  console.warn('a proxy is missing; its tests are skipped. Debian: apt install tinyproxy squid-openssl');

/** A real tinyproxy; with `login`, it asks for a user and a password. */
async function startTinyproxy(login = ''): Promise<string> {
  const port = await freePort();
  const file = join(tmpHome(), 'tinyproxy.conf');
  const auth = login && `BasicAuth ${login.replace(':', ' ')}\n`;
  writeFileSync(
    file,
    `Port ${port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nAllow 127.0.0.1\n${auth}LogLevel Error\n`,
  );
  await running(spawn('tinyproxy', ['-d', '-c', file], { stdio: 'ignore' }), port);
  return `http://${login && `${login}@`}127.0.0.1:${port}`;
}

/** A real squid that reads TLS: it shows certificates of its own authority, and trusts that of `vendorFile`. */
async function startSquid(vendorFile: string): Promise<{ url: string; authorityFile: string }> {
  const port = await freePort();
  const folder = tmpHome();
  const authority = makeCertificate({ name: 'Company inspection' });
  writeFileSync(join(folder, 'own.pem'), authority.cert + authority.key);
  copyFileSync(vendorFile, join(folder, 'vendor.pem'));
  spawnSync(CERTGEN, ['-c', '-s', join(folder, 'db'), '-M', '4MB']);
  // Squid gives up the rights of root.
  const user = process.getuid?.() === 0 ? 'proxy' : userInfo().username;
  spawnSync('chown', ['-R', user, folder]);
  const file = join(folder, 'squid.conf');
  writeFileSync(
    file,
    `http_port 127.0.0.1:${port} ssl-bump cert=${folder}/own.pem generate-host-certificates=on
sslcrtd_program ${CERTGEN} -s ${folder}/db -M 4MB
tls_outgoing_options cafile=${folder}/vendor.pem
ssl_bump bump all
acl ports port 1-65535
acl SSL_ports port 1-65535
http_access allow localhost
pid_filename none
access_log none
cache_log ${folder}/cache.log
cache deny all
shutdown_lifetime 0 seconds
cache_effective_user ${user}
pinger_enable off
`,
  );
  await running(spawn('squid', ['-N', '-n', `gw${port}`, '-f', file], { stdio: 'ignore' }), port);
  return { url: `http://127.0.0.1:${port}`, authorityFile: authority.certFile };
}

/** Waits until a proxy takes connections; it ends with the test. */
async function running(child: ChildProcess, port: number): Promise<void> {
  onTestFinished(() => void child.kill());
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(true));
        socket.on('error', () => resolve(false));
        socket.on('connect', () => socket.destroy());
      }),
  );
}

test.skipIf(!hasTinyproxy).each(['http', 'https'])(
  'a real tinyproxy with a password carries answers and streams by %s',
  async (scheme) => {
    const proxy = await startTinyproxy('me:s3cret');
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    const certificate = makeCertificate({ name: 'localhost' });
    const port =
      scheme === 'https' ? await startTlsFront(certificate, gateway.upstream.port) : gateway.upstream.port;
    const baseUrl = `${scheme}://localhost:${port}/v1`;
    const settings = { 'tls.ca_file': certificate.certFile };
    gateway.configure({ ...settings, providers: { mock: { baseUrl, proxy } } });
    expect((await gateway.post(PLAIN)).status).toBe(200);
    expect((await gateway.post(STREAM)).text()).toContain('[DONE]');
    const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.post(PLAIN)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    gateway.configure({
      ...settings,
      providers: { mock: { baseUrl, proxy: proxy.replace('s3cret', 'wrong') } },
    });
    const refused = await gateway.post(PLAIN);
    // By http, tinyproxy's 401 can't be told from the provider's.
    if (scheme === 'https') {
      expect(refused.status).toBe(502);
      expect(refused.text()).toContain('user and password');
    } else expect(refused.status).toBe(401);
    expect(refused.text()).not.toContain('wrong');
  },
);

test.skipIf(!hasTinyproxy)('a real tinyproxy without a password carries answers and streams', async () => {
  const proxy = await startTinyproxy();
  const gateway = await startGateway();
  gateway.configure({ providers: { mock: { baseUrl: gateway.upstream.url, proxy } } });
  expect((await gateway.post(PLAIN)).status).toBe(200);
  expect((await gateway.post(STREAM)).text()).toContain('[DONE]');
});

test.skipIf(!hasSquid)('a real squid that reads TLS is trusted by its own authority alone', async () => {
  const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
  const vendor = issueCertificate(['localhost']);
  const baseUrl = `https://localhost:${await startTlsFront(vendor, gateway.upstream.port)}/v1`;
  const squid = await startSquid(vendor.authorityFile);
  const providers = { mock: { baseUrl, proxy: squid.url } };
  gateway.configure({ 'tls.ca_file': vendor.authorityFile, providers });
  const refused = await gateway.post(PLAIN);
  expect([refused.status, refused.text()]).toEqual([502, expect.stringContaining('tls.ca_file')]);
  gateway.configure({ 'tls.ca_file': squid.authorityFile, providers });
  expect((await gateway.post(PLAIN)).status).toBe(200);
  expect((await gateway.post(STREAM)).text()).toContain('[DONE]');
  const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.post(PLAIN)));
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
});
