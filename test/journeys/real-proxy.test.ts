import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { PLAIN, STREAM, startGateway, until } from '../support/gateway.ts';
import { startTlsFront } from '../support/proxy.ts';
import { tmpHome } from '../support/tmp-home.ts';

const isInstalled = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const hasTinyproxy = isInstalled('tinyproxy');
if (!hasTinyproxy)
  console.warn('tinyproxy is not installed; its tests are skipped. Debian: apt install tinyproxy');

/** A real tinyproxy that asks for a user and a password. */
async function startTinyproxy(): Promise<string> {
  const port = await freePort();
  const file = join(tmpHome(), 'tinyproxy.conf');
  writeFileSync(
    file,
    `Port ${port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nAllow 127.0.0.1\nBasicAuth me s3cret\nLogLevel Error\n`,
  );
  const child: ChildProcess = spawn('tinyproxy', ['-d', '-c', file], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(true));
        socket.on('error', () => resolve(false));
        socket.on('connect', () => socket.destroy());
      }),
  );
  return `http://me:s3cret@127.0.0.1:${port}`;
}

test.skipIf(!hasTinyproxy).each(['http', 'https'])(
  'a real tinyproxy with a password carries answers and streams by %s',
  async (scheme) => {
    const proxy = await startTinyproxy();
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
