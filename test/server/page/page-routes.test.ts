import { describe, expect, test } from 'vitest';
import { type RawResponse, type RequestParts, request } from '../../support/client.ts';
import { PLAIN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const HOUR = 3_600_000;

/** Both halves of a browser's session, as headers. */
type Session = Record<'cookie' | 'x-gw-page', string>;

const send = (gateway: TestGateway, line: string, parts: RequestParts = {}): Promise<RawResponse> => {
  const [method = '', path = ''] = line.split(' ');
  return request(gateway.origin, { method, path, ...parts });
};

async function linkOf(gateway: TestGateway, key = gateway.adminKey): Promise<string> {
  const answer = await send(gateway, 'POST /login', { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(201);
  return (answer.json() as { path: string }).path;
}

function sessionIn(entered: RawResponse): Session {
  const [cookie = ''] = entered.header('set-cookie')?.split(';') ?? [];
  return { cookie, 'x-gw-page': entered.header('location')?.split('#session=')[1] ?? '' };
}

const enter = async (gateway: TestGateway, key?: string): Promise<Session> =>
  sessionIn(await send(gateway, `GET ${await linkOf(gateway, key)}`));

const whoami = (gateway: TestGateway, headers: Record<string, string>) =>
  send(gateway, 'GET /v1/gw/whoami', { headers });

async function started() {
  const clock = createVirtualClock();
  return { clock, gateway: await startGateway({ clock, budget: { period: 'daily', capUsd: 5 } }) };
}

describe('a link', () => {
  test('opens a session with the rights of its key, once', async () => {
    const { gateway } = await started();
    const link = await linkOf(gateway, gateway.key);
    const entered = await send(gateway, `GET ${link}`);
    expect(entered.status).toBe(303);
    expect(entered.header('set-cookie')).toMatch(
      /^gw-session-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(entered.header('cache-control')).toBe('no-store');
    const session = sessionIn(entered);
    const mine = await whoami(gateway, session);
    expect(mine.json()).toMatchObject({ key: { admin: false } });
    const refused = await send(gateway, 'PATCH /v1/gw/projects', {
      headers: session,
      body: { paused: true },
    });
    expect(refused.json()).toMatchObject({ error: { code: 'admin_required' } });

    const again = await send(gateway, `GET ${link}`);
    expect([again.status, again.header('set-cookie'), again.header('location')]).toEqual([
      401,
      undefined,
      undefined,
    ]);
  });

  test('is good for a minute', async () => {
    const { clock, gateway } = await started();
    const [soon, late] = [await linkOf(gateway), await linkOf(gateway)];
    await clock.advance(59_999);
    expect((await send(gateway, `GET ${soon}`)).status).toBe(303);
    await clock.advance(1);
    expect((await send(gateway, `GET ${late}`)).status).toBe(401);
  });

  test('needs a key, and has a cookie of the host alone behind TLS', async () => {
    const { gateway } = await started();
    for (const authorization of ['Bearer sk-gw-wrong', 'Basic x'])
      expect((await send(gateway, 'POST /login', { headers: { authorization } })).status).toBe(401);
    const headers = { 'x-forwarded-proto': 'https' };
    const entered = await send(gateway, `GET ${await linkOf(gateway)}`, { headers });
    expect(entered.header('set-cookie')).toMatch(/^__Host-gw-session-.*; HttpOnly; SameSite=Strict; Secure$/);
    expect((await whoami(gateway, { ...headers, ...sessionIn(entered) })).status).toBe(200);
  });
});

describe('signing in', () => {
  test('takes a key of gw, and says what is wrong with another', async () => {
    const { gateway } = await started();
    const signIn = (body: unknown) => send(gateway, 'POST /login', { body });
    const entered = await signIn({ key: gateway.adminKey });
    const { session } = entered.json() as { session: string };
    const [cookie = ''] = entered.header('set-cookie')?.split(';') ?? [];
    expect((await whoami(gateway, { cookie, 'x-gw-page': session })).status).toBe(200);

    expect((await signIn({ key: 'sk-gw-wrong' })).status).toBe(401);
    expect((await signIn({})).json()).toMatchObject({ error: { param: 'key' } });
    expect((await signIn({ key: 'a\r\nb' })).status).toBe(400);
    // What a form of another page could send without asking.
    const plain = { body: JSON.stringify({ key: gateway.key }), headers: { 'content-type': 'text/plain' } };
    expect((await send(gateway, 'POST /login', plain)).status).toBe(415);
  });

  test('out ends the session, and only its own', async () => {
    const { gateway } = await started();
    const [mine, other] = [await enter(gateway), await enter(gateway)];
    // A page that has seen the cookie can't end it.
    await send(gateway, 'POST /logout', { headers: { cookie: mine.cookie } });
    expect((await whoami(gateway, mine)).status).toBe(200);
    const ended = await send(gateway, 'POST /logout', { headers: mine });
    expect(ended.header('set-cookie')).toMatch(/^gw-session-\d+=; .*Max-Age=0$/);
    expect((await whoami(gateway, mine)).json()).toMatchObject({ error: { code: 'session_ended' } });
    expect((await whoami(gateway, other)).status).toBe(200);
  });
});

describe('a session', () => {
  test('ends after 12 hours without a request', async () => {
    const { clock, gateway } = await started();
    const session = await enter(gateway);
    clock.setWallTime(clock.now() + 12 * HOUR - 1);
    expect((await whoami(gateway, session)).status).toBe(200);
    clock.setWallTime(clock.now() + 12 * HOUR);
    expect((await whoami(gateway, session)).json()).toMatchObject({ error: { code: 'session_ended' } });
  });

  test('ends when its key is revoked', async () => {
    const { gateway } = await started();
    const admin = { authorization: `Bearer ${gateway.adminKey}` };
    const made = await send(gateway, 'POST /v1/gw/keys', { headers: admin, body: { label: 'page' } });
    const { id, key } = made.json() as { id: number; key: string };
    const session = await enter(gateway, key);
    expect((await whoami(gateway, session)).status).toBe(200);
    await send(gateway, `DELETE /v1/gw/keys/${id}`, { headers: admin });
    expect((await whoami(gateway, session)).status).toBe(401);
  });

  test('needs both halves: another server on localhost sees the cookie, a script of the page the secret', async () => {
    const { gateway } = await started();
    const [session, other] = [await enter(gateway), await enter(gateway)];
    for (const half of [
      { cookie: session.cookie },
      { 'x-gw-page': session['x-gw-page'] },
      { cookie: session.cookie, 'x-gw-page': '' },
      // As long in characters as the secret, and longer in bytes.
      { cookie: session.cookie, 'x-gw-page': '\u00e9'.repeat(session['x-gw-page'].length) },
      { cookie: session.cookie, 'x-gw-page': other['x-gw-page'] },
    ])
      expect((await whoami(gateway, half as Record<string, string>)).status).toBe(401);
  });

  test('is refused to pages of other origins, also those of this machine', async () => {
    const { gateway } = await started();
    const session = await enter(gateway);
    const host = new URL(gateway.origin).host;
    const own = { ...session, origin: gateway.origin, 'sec-fetch-site': 'same-origin' };
    expect((await whoami(gateway, own)).status).toBe(200);
    for (const foreign of [
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:9999' },
      { origin: 'http://localhost:9999', 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'null' },
      // DNS rebinding: the attacker's name leads here.
      { host: `evil.example:${host.split(':')[1]}`, origin: `http://evil.example:${host.split(':')[1]}` },
    ]) {
      const answer = await whoami(gateway, { ...session, ...(foreign as Record<string, string>) });
      expect([answer.status, (answer.json() as { error: { code: string } }).error.code]).toEqual([
        403,
        'forbidden_host',
      ]);
    }
  });

  test('asks a browser first: the preflight of another page is refused', async () => {
    const { gateway } = await started();
    const headers = {
      origin: 'http://localhost:9999',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-gw-page',
    };
    const answer = await send(gateway, 'OPTIONS /v1/gw/whoami', { headers });
    expect([answer.status, answer.header('access-control-allow-origin')]).toEqual([403, undefined]);
  });

  test('is no key: completions and metrics do not know it', async () => {
    const { gateway } = await started();
    const session = await enter(gateway);
    const sent = await send(gateway, 'POST /v1/chat/completions', { headers: session, body: PLAIN });
    expect(sent.status).toBe(401);
    expect((await send(gateway, 'GET /metrics', { headers: session })).status).toBe(401);
    expect(gateway.upstream.requests).toHaveLength(0);
  });
});

describe('the page', () => {
  test('has no inline code, and is in no frame', async () => {
    const { gateway } = await started();
    for (const path of ['/', '/login']) {
      const page = await send(gateway, `GET ${path}`);
      expect(page.status).toBe(200);
      expect(page.header('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(page.header('x-content-type-options')).toBe('nosniff');
      expect(page.header('referrer-policy')).toBe('no-referrer');
      expect(page.text()).not.toMatch(/<script(?![^>]* src="\/assets\/)|<style|style=| on\w+=|https?:/);
    }
  });

  test('is at most 120 kB in all, and names its files by their content', async () => {
    const { gateway } = await started();
    const headers = { 'accept-encoding': 'gzip' };
    const page = await send(gateway, 'GET /', { headers });
    const plain = await send(gateway, 'GET /');
    const files = [...plain.text().matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(files).toHaveLength(4);
    let size = page.body.length;
    for (const file of files) {
      const asset = await send(gateway, `GET ${file}`, { headers });
      expect(asset.status).toBe(200);
      expect(asset.header('content-encoding')).toBe('gzip');
      expect(asset.header('cache-control')).toContain('immutable');
      size += asset.body.length;
    }
    expect(size).toBeLessThan(120_000);
  });

  test.each([
    '/assets/..%2f..%2fpackage.json',
    '/assets/%2e%2e/index.html',
    '/assets/index.html',
    '/assets/none',
  ])('%s is no file of it', async (path) => {
    const { gateway } = await started();
    expect((await send(gateway, `GET ${path}`)).status).toBe(404);
  });

  test('can be switched off; clients still learn that gw is there', async () => {
    const { gateway } = await started();
    const session = await enter(gateway);
    gateway.configure({ 'page.enabled': 'off' });
    for (const line of ['GET /', 'GET /assets/x.js', 'GET /login', 'POST /login', 'POST /logout'])
      expect((await send(gateway, line)).status).toBe(404);
    expect((await whoami(gateway, session)).status).toBe(401);
    expect((await fetch(gateway.origin, { method: 'HEAD' })).status).toBe(200);
  });
});
