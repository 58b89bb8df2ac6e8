import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { cliHome, stopAfterwards } from '../cli/cli-home.ts';
import { makeCertificate } from '../support/certificate.ts';
import { startGateway } from '../support/gateway.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** The serial number of the certificate that a new connection gets. */
async function serialAt(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

describe('gw start --tls-cert --tls-key', () => {
  test('serves https, says so everywhere, and keeps it over a restart', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const { certFile, keyFile } = makeCertificate();
    // Clients of this test trust the certificate; the commands find their own daemon without that.
    const trusting = { NODE_EXTRA_CA_CERTS: certFile };
    const started = await cli.exec(['start', '--tls-cert', certFile, '--tls-key', keyFile]);
    expect(started).toMatchObject({ code: 0, stderr: '' });
    const origin = /^Base URL +(https:\/\/localhost:\d+)\/v1$/m.exec(started.stdout)?.[1] ?? '';
    expect((await cli.exec(['status'])).stdout).toContain(`running on ${origin}/v1, pid `);
    expect((await cli.exec(['doctor', '--quick'])).stdout).toContain(`running on ${origin}/v1, pid `);
    expect((await cli.exec(['env'])).stdout).toContain(`OPENAI_BASE_URL='${origin}/v1'`);
    expect((await cli.exec(['models', 'echo'])).stdout).toContain('sandbox/echo');

    const script = `const { default: OpenAI } = await import('${createRequire(import.meta.url).resolve('openai')}'); const stream = await new OpenAI().chat.completions.create({ model: 'sandbox/echo', stream: true, messages: [{ role: 'user', content: 'Hello' }] }); let n = 0; for await (const chunk of stream) n++; console.log(n > 1)`;
    const client = await cli.exec(['run', '--', process.execPath, '--input-type=module', '-e', script], {
      env: trusting,
    });
    expect(client).toMatchObject({ code: 0, stdout: 'true\n' });

    // A request in plain HTTP ends its own connection and nothing else.
    const plain = request(origin.replace('https:', 'http:'));
    plain.end();
    expect((await once(plain, 'error').catch((error) => [error]))[0]).toMatchObject({ code: 'ECONNRESET' });

    expect((await cli.exec(['restart'])).stdout).toMatch(/^gw restarted: https:\/\/localhost:\d+\/v1/);
  }, 60_000);

  test('is refused before anything starts or stops', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const { certFile } = makeCertificate();
    const { keyFile } = makeCertificate();
    const flags = ['--tls-cert', certFile, '--tls-key', keyFile];
    const { code, stdout, stderr } = await cli.exec(['start', ...flags]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`gw: the key in ${keyFile} does not belong to the certificate in ${certFile}. `);
    await cli.exec(['start']);
    const { pid } = await cli.json<{ pid: number }>(['status']);
    expect((await cli.exec(['restart', ...flags])).code).toBe(1);
    expect(await cli.json(['status'])).toMatchObject({ status: 'running', pid });
  }, 60_000);
});

test('clients are told the name that gw is served under', async () => {
  const cli = cliHome();
  const { certFile, keyFile } = makeCertificate({ name: 'gw.example.com' });
  const server = { allowed_hosts: ['gw.example.com'], tls_cert: certFile, tls_key: keyFile };
  writeFileSync(cli.paths.config, JSON.stringify({ server, port: 4747 }));
  cli.env.GW_PORT = '';
  expect((await cli.run(['env'])).stdout).toContain("OPENAI_BASE_URL='https://gw.example.com:4747/v1'");
});

test('a replaced certificate is in force within a minute, a half replaced one never', async () => {
  const clock = createVirtualClock(Date.now());
  const first = makeCertificate();
  const second = makeCertificate();
  const { daemon, logged } = await startGateway({
    clock,
    settings: { 'server.tls_cert': first.certFile, 'server.tls_key': first.keyFile },
  });
  const before = await serialAt(daemon.port);
  copyFileSync(second.certFile, first.certFile);
  await clock.advance(60_000);
  expect(await serialAt(daemon.port)).toBe(before);
  const warnings = logged.map(({ msg }) => String(msg)).filter((text) => text.includes('certificate'));
  expect(warnings).toEqual([
    expect.stringMatching(/^the new certificate is not used: the key in .* does not belong/),
  ]);
  copyFileSync(second.keyFile, first.keyFile);
  await clock.advance(60_000);
  expect(await serialAt(daemon.port)).not.toBe(before);
});
