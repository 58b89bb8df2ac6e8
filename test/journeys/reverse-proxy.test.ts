import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Certificate, makeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { createGate } from '../support/gate.ts';
import { STREAM, startGateway, until } from '../support/gateway.ts';
import { sse } from '../support/sse-scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';

const NAME = 'gw.example.com';
const DOCUMENT = readFileSync(join(import.meta.dirname, '../../docs/server.md'), 'utf8');

/** The example in docs/server.md. */
function example(language: string): string {
  const block = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(DOCUMENT)?.[1];
  if (block === undefined) throw new Error(`docs/server.md has no example in ${language}`);
  return block;
}

/** Replaces what has to differ in a test; each text has to be in the example. */
function adapted(text: string, changes: Record<string, string>): string {
  return Object.entries(changes).reduce((result, [before, after]) => {
    expect(result).toContain(before);
    return result.replace(before, after);
  }, text);
}

interface Setup {
  folder: string;
  /** Of the proxy. */
  port: number;
  gatewayPort: number;
  certificate: Certificate;
}

interface Proxy {
  name: string;
  start(setup: Setup): ChildProcess;
}

const CADDY: Proxy = {
  name: 'caddy',
  start({ folder, port, gatewayPort, certificate: { certFile, keyFile } }) {
    const file = join(folder, 'Caddyfile');
    const site = adapted(example('caddy'), {
      [`${NAME} {`]: `https://${NAME}:${port} {\n\ttls ${certFile} ${keyFile}`,
      ':4747': `:${gatewayPort}`,
    });
    writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
    const env = { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    return spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { env, stdio: 'ignore' });
  },
};

const NGINX: Proxy = {
  name: 'nginx',
  start({ folder, port, gatewayPort, certificate: { certFile, keyFile } }) {
    const file = join(folder, 'nginx.conf');
    const live = `/etc/letsencrypt/live/${NAME}`;
    const server = adapted(example('nginx'), {
      'listen 443': `listen 127.0.0.1:${port}`,
      [`${live}/fullchain.pem`]: certFile,
      [`${live}/privkey.pem`]: keyFile,
      ':4747': `:${gatewayPort}`,
    });
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    );
    writeFileSync(
      file,
      `pid ${folder}/nginx.pid;\nevents {}\nhttp {\naccess_log off;\n${paths.join('\n')}\n${server}}\n`,
    );
    const args = ['-p', folder, '-e', join(folder, 'error.log'), '-c', file, '-g', 'daemon off;'];
    return spawn('nginx', args, { stdio: 'ignore' });
  },
};

const isInstalled = ({ name }: Proxy) =>
  spawnSync(name, [name === 'nginx' ? '-v' : 'version']).error === undefined;

describe.each([CADDY, NGINX])('the example for $name in docs/server.md', (proxy) => {
  test('passes streams on event by event, and the name', async (context) => {
    if (!isInstalled(proxy)) context.skip(`${proxy.name} is not installed`);
    const gateway = await startGateway({ settings: { 'server.allowed_hosts': NAME } });
    const certificate = makeCertificate({ name: NAME });
    const port = await freePort();
    const child = proxy.start({ folder: tmpHome(), port, gatewayPort: gateway.daemon.port, certificate });
    onTestFinished(() => void child.kill());
    const ask = asker(port, certificate);
    await until(async () => (await ask('GET', '/health').catch(() => undefined))?.statusCode === 200);

    const gate = createGate();
    gateway.upstream.queue(sse(['one', 'two'], { pace: gate.pass }));
    const asked = ask('POST', '/v1/chat/completions', gateway.key, JSON.stringify(STREAM));
    gate.open(2);
    const answer = await asked;
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const parts = answer.iterator({ destroyOnReturn: false });
    let text = '';
    const readUntil = async (wanted: string) => {
      while (!text.includes(wanted)) {
        const { value, done } = await parts.next();
        if (done) throw new Error(`the stream ended after ${text}`);
        text += value;
      }
    };
    // The provider stands before the next piece: a proxy that buffers would never pass this one on.
    await readUntil('one');
    await gate.reached();
    expect(text).not.toContain('two');
    gate.openForGood();
    await readUntil('[DONE]');

    expect((await ask('GET', '/v1/models')).statusCode).toBe(401);
    gateway.configure({});
    expect((await ask('GET', '/health')).statusCode).toBe(403);
  });
});

/** Sends requests to the proxy under the name that the certificate is for. */
function asker(port: number, { cert }: Certificate) {
  return (method: string, path: string, key?: string, body?: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = {
        host: NAME,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const options = {
        host: '127.0.0.1',
        port,
        servername: NAME,
        ca: cert,
        agent: false,
        method,
        path,
        headers,
      };
      request(options, resolve).on('error', reject).end(body);
    });
}
