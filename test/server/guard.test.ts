import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { isLoopback } from '../../src/loopback.ts';
import { createGuard } from '../../src/server/guard.ts';
import { openConnection, type RawResponse } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

/** Sends GET /health with exactly these header lines. */
async function health(gateway: TestGateway, lines: string[], target = '/health'): Promise<RawResponse> {
  const connection = await openConnection(gateway.url);
  await connection.send(`GET ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`);
  const answer = await connection.response();
  connection.hangUp();
  return answer;
}

describe('the Host header', () => {
  test.each([
    'localhost',
    'localhost:1',
    'LOCALHOST:4747',
    '127.0.0.1',
    '127.0.0.1:4747',
    '127.1.2.3:80',
    '[::1]',
    '[::1]:4747',
  ])('%s is accepted', async (host) => {
    const gateway = await startGateway();
    expect((await health(gateway, [`host: ${host}`])).status).toBe(200);
  });

  test.each([
    'evil.com',
    'evil.com:4747',
    '127.evil.com',
    '127.0.0.1.evil.com',
    '127.0.0.1.nip.io:4747',
    'localhost.evil.com',
    'evil.com.localhost.evil.com',
    'xlocalhost',
    'localhost.',
    '0.0.0.0',
    '[::]',
    '[::ffff:10.0.0.1]',
    '10.0.0.1',
    '192.168.1.5:4747',
    'localhost@evil.com',
    'evil.com@localhost',
    'localhost/evil.com',
    'localhost?evil.com',
    'localhost#evil.com',
    'localhost evil.com',
    'localhost,evil.com',
    '',
  ])('"%s" is refused', async (host) => {
    const gateway = await startGateway();
    const answer = await health(gateway, [`host: ${host}`]);
    expect(answer.status).toBe(403);
    expect(answer.json()).toMatchObject({
      error: { type: 'permission_error', code: 'forbidden_host', param: null },
    });
    expect(answer.header('x-service-request-id')).toMatch(/^req_/);
  });

  test.each([
    ['localhost', 'evil.com'],
    ['evil.com', 'localhost'],
    ['localhost', 'localhost'],
  ])("is refused when sent twice (%s, %s), even if both are gw's own", async (...hosts) => {
    const gateway = await startGateway();
    const lines = hosts.map((host) => `host: ${host}`);
    for (let i = 0; i < 2; i++) {
      expect((await health(gateway, lines)).status).toBeGreaterThanOrEqual(400);
      expect((await health(gateway, ['host: localhost'])).status).toBe(200);
    }
  });

  test('is a bad request when missing', async () => {
    const gateway = await startGateway();
    const answer = await health(gateway, []);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { type: 'invalid_request_error', code: 'missing_host' } });
    expect(answer.header('x-service-request-id')).toMatch(/^req_/);
  });
});

test('an unknown expectation is ignored, and its request guarded like any other', async () => {
  const gateway = await startGateway();
  expect((await health(gateway, ['host: localhost', 'expect: 200-ok'])).status).toBe(200);
  expect((await health(gateway, ['host: evil.com', 'expect: 200-ok'])).status).toBe(403);
});

describe('the Origin header', () => {
  test.each(['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:8080'])(
    '%s is accepted',
    async (origin) => {
      const gateway = await startGateway();
      const answer = await health(gateway, ['host: localhost', `origin: ${origin}`]);
      expect(answer.status).toBe(200);
      expect(answer.header('access-control-allow-origin')).toBeUndefined();
    },
  );

  test.each([
    'https://evil.com',
    'null',
    'http://localhost.evil.com',
    'file://',
    'chrome-extension://abc',
    'http://evil.com:80@localhost.evil.com',
  ])('%s is refused', async (origin) => {
    const gateway = await startGateway();
    expect((await health(gateway, ['host: localhost', `origin: ${origin}`])).status).toBe(403);
  });
});

test.each(['http://localhost/health', 'http://evil.com/health', '*', 'evil.com:443'])(
  'the request target %s is refused: gw is not a forward proxy',
  async (target) => {
    const gateway = await startGateway();
    expect((await health(gateway, ['host: localhost'], target)).status).toBeGreaterThanOrEqual(400);
  },
);

test('the host that gw is configured to listen on is accepted', async () => {
  const gateway = await startGateway({ settings: { host: '127.0.0.2' } });
  const answer = await fetch(`http://127.0.0.2:${gateway.daemon.port}/health`);
  expect(answer.status).toBe(200);
});

describe('server.allowed_hosts', () => {
  const named = { settings: { 'server.allowed_hosts': 'gw.example.com' } };

  test.each(['gw.example.com', 'GW.example.com:443'])('accepts %s', async (host) => {
    const gateway = await startGateway(named);
    const lines = [`host: ${host}`, 'origin: https://gw.example.com'];
    expect((await health(gateway, lines)).status).toBe(200);
  });

  test.each(['example.com', 'a.gw.example.com', 'gw.example.com.evil.com'])('refuses %s', async (host) => {
    const gateway = await startGateway(named);
    expect((await health(gateway, [`host: ${host}`])).status).toBe(403);
  });

  test('applies from the next request, also when a name is taken away', async () => {
    const gateway = await startGateway();
    const lines = ['host: gw.example.com'];
    const refused = (await health(gateway, lines)).json() as { error: { message: string } };
    expect(refused.error.message).toMatch(/gw config set server.allowed_hosts NAME$/);
    gateway.configure(named.settings);
    expect((await health(gateway, lines)).status).toBe(200);
    gateway.configure({});
    expect((await health(gateway, lines)).status).toBe(403);
  });
});

test('isLoopback() goes by the address, not by what a name looks like', () => {
  for (const name of ['localhost', '127.0.0.1', '127.255.255.254', '[::1]', '::1'])
    expect(isLoopback(name)).toBe(true);
  for (const name of ['127.1', '127.evil.com', '128.0.0.1', '[::2]', 'localhost.', ''])
    expect(isLoopback(name)).toBe(false);
});

describe('createGuard() for a wider address', () => {
  /** The part of a request that the guard reads. */
  const asked = (host: string, origin?: string) =>
    ({ headers: { host, origin }, rawHeaders: ['Host', host], url: '/health' }) as unknown as IncomingMessage;
  const guard = createGuard({ boundTo: '0.0.0.0', allowedHosts: () => [], allowedOrigins: () => [] });

  test.each(['10.0.0.5:4747', '192.168.1.5', '[fd00::1]:4747', 'localhost', hostname()])(
    'accepts %s',
    (host) => {
      expect(() => guard(asked(host))).not.toThrow();
    },
  );

  test('refuses other names, which DNS rebinding needs', () => {
    expect(() => guard(asked('evil.com'))).toThrow('is not allowed');
  });

  test('refuses a page from another address', () => {
    expect(() => guard(asked('10.0.0.5', 'http://10.0.0.9'))).toThrow('is not allowed');
  });
});
