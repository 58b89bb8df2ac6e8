import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { isLoopback } from '../../src/loopback.ts';
import { createGuard } from '../../src/server/guard.ts';
import { openConnection, type RawResponse } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

/** Sends these header lines with a GET of /health, and nothing else. */
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
  ])('%s is ours', async (host) => {
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
  ])('that stands twice (%s, %s) is refused, known or not', async (...hosts) => {
    const gateway = await startGateway();
    const lines = hosts.map((host) => `host: ${host}`);
    for (let i = 0; i < 2; i++) {
      expect((await health(gateway, lines)).status).toBeGreaterThanOrEqual(400);
      expect((await health(gateway, ['host: localhost'])).status).toBe(200);
    }
  });

  test('that is missing is a bad request', async () => {
    const gateway = await startGateway();
    const answer = await health(gateway, []);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { type: 'invalid_request_error', code: 'missing_host' } });
    expect(answer.header('x-service-request-id')).toMatch(/^req_/);
  });
});

test('an expectation that gw does not know is passed over, and guarded like any other request', async () => {
  const gateway = await startGateway();
  expect((await health(gateway, ['host: localhost', 'expect: 200-ok'])).status).toBe(200);
  expect((await health(gateway, ['host: evil.com', 'expect: 200-ok'])).status).toBe(403);
});

describe('the Origin header', () => {
  test.each(['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:8080'])(
    '%s is ours',
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
  'the request target %s is refused: gw is no proxy',
  async (target) => {
    const gateway = await startGateway();
    expect((await health(gateway, ['host: localhost'], target)).status).toBeGreaterThanOrEqual(400);
  },
);

test('a host name that gw was told to listen on is its own', async () => {
  const gateway = await startGateway({ settings: { host: '127.0.0.2' } });
  const answer = await fetch(`http://127.0.0.2:${gateway.daemon.port}/health`);
  expect(answer.status).toBe(200);
});

test('isLoopback() knows this machine by address, not by the look of a name', () => {
  for (const name of ['localhost', '127.0.0.1', '127.255.255.254', '[::1]', '::1'])
    expect(isLoopback(name)).toBe(true);
  for (const name of ['127.1', '127.evil.com', '128.0.0.1', '[::2]', 'localhost.', ''])
    expect(isLoopback(name)).toBe(false);
});

describe('createGuard() for a wider address', () => {
  /** Only what the guard reads of a request. */
  const asked = (host: string, origin?: string) =>
    ({ headers: { host, origin }, rawHeaders: ['Host', host], url: '/health' }) as unknown as IncomingMessage;
  const guard = createGuard('0.0.0.0');

  test.each(['10.0.0.5:4747', '192.168.1.5', '[fd00::1]:4747', 'localhost', hostname()])(
    'lets %s in',
    (host) => {
      expect(() => guard(asked(host))).not.toThrow();
    },
  );

  test('refuses other names, which is what rebinding needs', () => {
    expect(() => guard(asked('evil.com'))).toThrow('is not gw');
  });

  test('refuses a page of another address', () => {
    expect(() => guard(asked('10.0.0.5', 'http://10.0.0.9'))).toThrow('is not gw');
  });
});
