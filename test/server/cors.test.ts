import { describe, expect, test } from 'vitest';
import { parseOrigins } from '../../src/config/values.ts';
import { request } from '../support/client.ts';
import { PLAIN, STREAM, startGateway, type TestGateway } from '../support/gateway.ts';

const ORIGINS = [
  'app://obsidian.md',
  'tauri://localhost',
  'vscode-webview://0a1b-2c',
  'http://localhost:3000',
];

const allowing = (origins: string) => startGateway({ settings: { 'server.allowed_origins': origins } });

const preflight = (gateway: TestGateway, origin: string, more: Record<string, string> = {}) =>
  request(gateway.origin, {
    method: 'OPTIONS',
    path: '/v1/chat/completions',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type, x-stainless-os',
      ...more,
    },
  });

describe('an allowed origin', () => {
  test.each(ORIGINS)('may ask before its request: %s', async (origin) => {
    const gateway = await allowing(ORIGINS.join(','));
    const answer = await preflight(gateway, origin, { 'access-control-request-private-network': 'true' });
    expect(answer.status).toBe(204);
    expect(answer.header('access-control-allow-origin')).toBe(origin);
    expect(answer.header('access-control-allow-methods')).toBe('POST');
    expect(answer.header('access-control-allow-headers')).toBe('authorization, content-type, x-stainless-os');
    expect(answer.header('access-control-allow-private-network')).toBe('true');
    expect(answer.header('access-control-allow-credentials')).toBeUndefined();
    expect(answer.header('vary')).toContain('Origin');
  });

  test('may read answers, streams and errors', async () => {
    const gateway = await allowing('app://obsidian.md');
    const headers = { origin: 'app://obsidian.md' };
    gateway.upstream.queue((exchange) =>
      exchange.send(200, { vary: 'accept-encoding', 'content-type': 'application/json' }, '{}'),
    );
    const bad = { ...headers, authorization: 'Bearer sk-gw-wrong' };
    const answers = [
      await gateway.post(PLAIN, { headers }),
      await gateway.post(STREAM, { headers }),
      await gateway.post({ ...PLAIN, model: 'nobody/x' }, { headers }),
      await gateway.post(PLAIN, { headers: bad }),
      await gateway.get('/v1/models', headers),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 401, 200]);
    for (const answer of answers) {
      expect(answer.header('access-control-allow-origin')).toBe('app://obsidian.md');
      expect(answer.header('vary')).toContain('Origin');
      expect(answer.header('access-control-expose-headers')).toContain('x-service-cost-usd');
    }
  });

  test('is allowed from the next request on', async () => {
    const gateway = await startGateway();
    expect((await preflight(gateway, 'app://obsidian.md')).status).toBe(403);
    gateway.configure({ 'server.allowed_origins': 'app://obsidian.md' });
    expect((await preflight(gateway, 'app://obsidian.md')).status).toBe(204);
  });
});

describe('another origin', () => {
  test.each([
    'http://evil.example',
    'app://obsidian.md.evil',
    'app://obsidian',
    'APP://obsidian.md',
    'http://app://obsidian.md',
    'null',
  ])('is refused: %s', async (origin) => {
    const gateway = await allowing('app://obsidian.md');
    const answer = await preflight(gateway, origin);
    expect(answer.status).toBe(403);
    expect(answer.header('access-control-allow-origin')).toBeUndefined();
  });

  test('is told which command allows it', async () => {
    const gateway = await allowing('app://obsidian.md');
    const { error } = (await preflight(gateway, 'http://my.example:3000')).json() as {
      error: { message: string };
    };
    expect(error.message).toContain(
      "gw config set server.allowed_origins 'app://obsidian.md,http://my.example:3000'",
    );
  });

  test.each(['http://localhost:3000', 'tauri://localhost', 'capacitor://localhost', 'http://127.0.0.1:5173'])(
    'of this machine is told so too before its request: %s',
    async (origin) => {
      const gateway = await startGateway();
      const answer = await preflight(gateway, origin);
      expect([answer.status, answer.header('access-control-allow-origin')]).toEqual([403, undefined]);
      expect(answer.body.toString()).toContain(`gw config set server.allowed_origins '${origin}'`);
      gateway.configure({ 'server.allowed_origins': origin });
      expect((await preflight(gateway, origin)).status).toBe(204);
    },
  );

  test.each(['app://Foo', 'http://localhost:80', 'app://x:99999', 'null', 'file://'])(
    'that no setting takes is told no command: %s',
    async (origin) => {
      const gateway = await startGateway();
      expect((await preflight(gateway, origin)).body.toString()).not.toContain('gw config set');
      expect(() => parseOrigins(origin)).toThrow('is not an exact origin');
    },
  );

  test("of this machine sends requests as before, and a provider's permissions are not passed on", async () => {
    const gateway = await startGateway();
    const permissions = ['origin', 'methods', 'headers', 'credentials', 'private-network'].map(
      (what) => [`access-control-allow-${what}`, '*'] as const,
    );
    gateway.upstream.queue((exchange) =>
      exchange.send(200, { ...Object.fromEntries(permissions), 'content-type': 'application/json' }, '{}'),
    );
    const answer = await gateway.post(PLAIN, { headers: { origin: 'http://localhost:3000' } });
    for (const [name] of permissions) expect(answer.header(name)).toBeUndefined();
  });
});
