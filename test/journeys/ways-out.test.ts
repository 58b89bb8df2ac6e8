import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cliHome } from '../cli/cli-home.ts';
import { makeCertificate } from '../support/certificate.ts';
import { answer } from '../support/chat-scripts.ts';
import { deferred } from '../support/deferred.ts';
import { PLAIN, STREAM, startGateway, type TestGateway, until } from '../support/gateway.ts';
import type { TestSettings } from '../support/home.ts';
import { headerOf } from '../support/http-message.ts';
import { startProxy, startTlsFront } from '../support/proxy.ts';
import { hang } from '../support/scripts.ts';
import { startUpstream } from '../support/upstream.ts';

/** A name that only a proxy can resolve. */
const HOST = 'provider.invalid';
const LOGIN = 'me:pass%20word/@:';
const WRITTEN_LOGIN = `me:${encodeURIComponent('pass%20word/@:')}`;

const BUDGET = { budget: { period: 'daily' as const, capUsd: 1 } };

const withLogin = (url: string, login = WRITTEN_LOGIN) => url.replace('//', `//${login}@`);

/** A gateway whose provider is at HOST, behind a proxy that leads there. */
async function behindProxy({
  scheme,
  login,
  refuses,
  settings,
  capped = true,
}: {
  scheme: 'http' | 'https';
  login?: string;
  refuses?: number;
  settings?: TestSettings;
  /** Without a budget, the call of a client that hangs up is cut. */
  capped?: boolean;
}) {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const certificate = makeCertificate({ name: HOST });
  const port = scheme === 'https' ? await startTlsFront(certificate, upstream.port) : upstream.port;
  const proxy = await startProxy({
    leadsTo: port,
    ...(login ? { login } : {}),
    ...(refuses ? { refuses } : {}),
  });
  const baseUrl = `${scheme}://${HOST}/v1`;
  const start = async (env: Record<string, string>, more: TestSettings = {}, mock = {}) => {
    const gateway = await startGateway({ upstream, env, ...(capped ? BUDGET : {}) });
    const trusted: TestSettings = { 'tls.ca_file': certificate.certFile };
    gateway.configure({ ...trusted, ...settings, ...more, providers: { mock: { baseUrl, ...mock } } });
    return gateway;
  };
  return { upstream, proxy, certificate, baseUrl, start };
}

/** A request that gw refuses. */
async function failing(gateway: TestGateway) {
  const response = await gateway.post(PLAIN);
  return { status: response.status, ...(response.json() as { error: { code: string; message: string } }) };
}

const SCHEMES = ['http', 'https'] as const;
const targetOf = (scheme: string) =>
  scheme === 'http' ? `POST http://${HOST}/v1/chat/completions` : `CONNECT ${HOST}:443`;

describe.each(SCHEMES)('a provider behind a proxy, by %s', (scheme) => {
  test('is reached through that of the environment, with its password', async () => {
    const { proxy, upstream, start } = await behindProxy({ scheme, login: LOGIN });
    const variable = scheme === 'http' ? 'HTTP_PROXY' : 'https_proxy';
    const gateway = await start({ [variable]: withLogin(proxy.url) });
    const { status } = await gateway.post(PLAIN, { headers: { 'x-twice': 'a' } });
    expect(status).toBe(200);
    expect(proxy.seen).toEqual([targetOf(scheme)]);
    const [request] = upstream.requests;
    expect(request && headerOf(request.head, 'host')).toBe(HOST);
    expect(request && headerOf(request.head, 'proxy-authorization')).toBeUndefined();
    expect(JSON.parse(String(request?.body))).toMatchObject({ ...PLAIN, model: 'test-model' });
    expect(JSON.stringify(gateway.logged)).not.toContain('pass');
  });

  test('is reached through proxy.url by a service that has no variables', async () => {
    const { proxy, start } = await behindProxy({ scheme });
    const gateway = await start({}, { 'proxy.url': proxy.url });
    expect((await gateway.post(PLAIN)).status).toBe(200);
    expect(proxy.seen).toHaveLength(1);
  });

  test('is reached through a proxy of its own, and another one past it', async () => {
    const { proxy, start } = await behindProxy({ scheme });
    const gateway = await start({ HTTP_PROXY: 'http://127.0.0.1:1' }, {}, { proxy: proxy.url });
    expect((await gateway.post(PLAIN)).status).toBe(200);
    gateway.configure({ 'proxy.url': proxy.url, providers: { mock: { baseUrl: gateway.upstream.url } } });
    expect((await gateway.post(PLAIN)).status).toBe(200);
    expect(proxy.seen).toEqual([targetOf(scheme)]);
  });

  test('streams event by event, and hears of a client that hangs up', async () => {
    const { upstream, proxy, start } = await behindProxy({ scheme, capped: false });
    const gateway = await start({ HTTP_PROXY: proxy.url });
    const held = deferred<void>();
    upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await exchange.chunk('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n');
      await held.promise;
    });
    const client = await gateway.open(STREAM);
    const seen = await upstream.nextRequest();
    await client.head();
    client.hangUp();
    await until(() => seen.hungUp !== undefined);
    held.resolve();
    expect((await gateway.settled(1))[0]?.outcome).toBe('client_gone');
  });

  test('that stalls is given up at the idle limit', async () => {
    const { upstream, proxy, start } = await behindProxy({ scheme });
    const gateway = await start({ HTTP_PROXY: proxy.url }, { 'upstream.first_byte_timeout_ms': 100 });
    upstream.queue(hang());
    const { status, error } = await failing(gateway);
    expect(status).toBe(504);
    expect(error.code).toBe('upstream_timeout');
  });

  test('that refuses the password is named, and costs nothing', async () => {
    const { upstream, proxy, start } = await behindProxy({ scheme, login: LOGIN });
    const gateway = await start({ HTTP_PROXY: withLogin(proxy.url, 'me:wrong-one') });
    const { status, error } = await failing(gateway);
    expect(status).toBe(502);
    expect(error.code).toBe('upstream_unreachable');
    expect(error.message).toContain('user and password');
    expect(error.message).toContain('HTTP_PROXY');
    expect(error.message).not.toContain('wrong-one');
    expect(upstream.requests).toEqual([]);
    expect((await gateway.records())[0]).toMatchObject({ costNanoUsd: 0 });
  });

  test('carries many calls at once over as many connections', async () => {
    const { proxy, start } = await behindProxy({ scheme });
    const gateway = await start({ HTTP_PROXY: proxy.url }, { 'admission.max_wait_ms': 10_000 });
    const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.post(PLAIN)));
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
  });
});

test('a proxy that does not connect, or is down, is named', async () => {
  const { proxy, start } = await behindProxy({ scheme: 'https', refuses: 403 });
  const gateway = await start({ HTTPS_PROXY: proxy.url });
  const refused = await failing(gateway);
  expect(refused.error.message).toContain(
    `the proxy answers HTTP 403 and does not connect to ${HOST} through ${proxy.url} (HTTPS_PROXY)`,
  );
  gateway.configure({
    'proxy.url': 'http://127.0.0.1:1',
    providers: { mock: { baseUrl: `https://${HOST}/v1` } },
  });
  const down = await failing(gateway);
  expect(down.status).toBe(502);
  expect(down.error.message).toContain('through http://127.0.0.1:1 (proxy.url)');
});

test('a variable without an address is named, and the sandbox answers all the same', async () => {
  const { start } = await behindProxy({ scheme: 'https' });
  const gateway = await start({ HTTPS_PROXY: 'socks5://127.0.0.1:1' });
  const { status, error } = await failing(gateway);
  expect([status, error.code]).toEqual([502, 'upstream_unreachable']);
  expect(error.message).toContain('HTTPS_PROXY is "socks5://127.0.0.1:1", which is not the address');
  expect((await gateway.post({ ...PLAIN, model: 'sandbox/echo' })).status).toBe(200);
});

test('a certificate of an authority that is not trusted says how to trust it', async () => {
  const { proxy, start } = await behindProxy({ scheme: 'https', settings: { 'tls.ca_file': '' } });
  const gateway = await start({ HTTPS_PROXY: proxy.url });
  const { error } = await failing(gateway);
  expect(error.message).toContain('gw config set tls.ca_file FILE');
  expect((await gateway.records())[0]).toMatchObject({ costNanoUsd: 0 });
});

test('gw providers test and gw doctor say which way out is taken, and whose certificate failed', async () => {
  const { upstream, proxy, certificate, baseUrl } = await behindProxy({ scheme: 'https', login: LOGIN });
  const cli = cliHome();
  const env = { HTTPS_PROXY: withLogin(proxy.url) };
  await cli.run(['providers', 'add', 'far', '--base-url', baseUrl, '--stdin'], { stdin: 'sk-far-key' });
  await cli.run(['providers', 'add', 'near', '--base-url', upstream.url, '--stdin'], {
    stdin: 'sk-near-key',
  });

  const untrusted = await cli.run(['providers', 'test', 'far'], { env });
  expect(untrusted.code).toBe(1);
  expect(untrusted.stdout).toContain(`issued by "${HOST}"`);
  expect(untrusted.stdout).toContain('tls.ca_file');
  expect(upstream.modelRequests).toEqual([]);

  await cli.run(['config', 'set', 'tls.ca_file', certificate.certFile]);
  const tested = JSON.parse((await cli.run(['providers', 'test', '--json'], { env })).stdout);
  expect(tested).toMatchObject([
    {
      name: 'far',
      ok: true,
      way_out: 'proxy',
      proxy: proxy.url,
      status: 200,
      models: 1,
    },
    { name: 'near', ok: true, way_out: 'direct', proxy: null, status: 200, models: 1 },
  ]);
  const doctor = await cli.run(['doctor'], { env });
  expect(doctor.stdout).toContain(`through ${proxy.url} (HTTPS_PROXY)`);

  const wrong = await cli.run(['providers', 'test', 'far'], { env: { HTTPS_PROXY: proxy.url } });
  expect(wrong.stdout).toContain('HTTP 407');

  await cli.run(['config', 'set', 'providers.far.proxy', withLogin(proxy.url)]);
  expect((await cli.run(['config', 'get', 'providers.far.proxy'])).stdout).not.toContain('pass');
  expect((await cli.run(['providers', 'test', 'far'])).code).toBe(0);
  expect((await cli.run(['config', 'set', 'providers.far.proxy', 'ftp://x'])).code).toBe(2);
  expect((await cli.run(['config', 'set', 'providers.nobody.proxy', 'none'])).code).toBe(5);
  expect((await cli.run(['config', 'set', 'tls.ca_file', '/nowhere.pem'])).code).toBe(2);
  expect(readFileSync(cli.paths.config, 'utf8')).not.toContain('nowhere');
});

test('webhooks go through the proxy, and not to addresses that they may not go to', async () => {
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    received.push(request.url ?? '');
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void receiver.close());
  const proxy = await startProxy({ leadsTo: (receiver.address() as AddressInfo).port });
  const cli = cliHome();
  await cli.run(['plan', 'set', 'pro']);
  await cli.run(['config', 'set', 'proxy.url', proxy.url]);
  const added = await cli.run(['webhooks', 'add', 'http://hooks.invalid/in', '--json']);
  const { id } = JSON.parse(added.stdout);
  expect((await cli.run(['webhooks', 'test', id])).code).toBe(0);
  expect(received).toEqual(['/in']);
  expect(proxy.seen).toEqual(['POST http://hooks.invalid/in']);
  const inside = await cli.run(['webhooks', 'add', 'http://169.254.169.254/latest']);
  expect(inside.code).not.toBe(0);
  expect(proxy.seen).toHaveLength(1);
});

test('answers of both parts of a two-part header list arrive', async () => {
  const { upstream, proxy, start } = await behindProxy({ scheme: 'https' });
  const gateway = await start({ HTTPS_PROXY: proxy.url });
  upstream.queue(answer('Hello.'));
  await gateway.post(PLAIN, { headers: { 'x-title': 'a, b' } });
  const [request] = upstream.requests;
  expect(request && headerOf(request.head, 'x-title')).toBe('a, b');
});
