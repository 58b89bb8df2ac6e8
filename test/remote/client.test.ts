import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EXIT, exitCodeOf } from '../../src/cli/exit.ts';
import { connectRemote, type RemoteOptions, type RemoteRequest } from '../../src/remote/client.ts';
import { VERSION } from '../../src/version.ts';
import { makeCertificate } from '../support/certificate.ts';
import { DIRECT, networkIn } from '../support/network.ts';

/** Listens until the test ends; returns the port. */
async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

interface Reply {
  status?: number;
  body?: unknown;
  text?: string;
  headers?: Record<string, string>;
}

/** A server that answers `/health` as a gw of a version, everything else with `reply`, and keeps what it was sent. */
function scripted(reply: Reply, { version = VERSION, health }: { version?: string; health?: Reply } = {}) {
  const seen: { path: string; method: string; key: string | undefined; body: string }[] = [];
  const listener: RequestListener = async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const path = request.url?.replace(/^http:\/\/[^/]+/, '') ?? '';
    seen.push({ path, method: request.method ?? '', key: request.headers.authorization, body });
    const { status, text, headers, ...rest } =
      path === '/health' ? (health ?? { body: { status: 'ok', version, instance_id: 'i' } }) : reply;
    response.writeHead(status ?? 200, headers).end(text ?? JSON.stringify(rest.body));
  };
  return { seen, listener };
}

async function serverOf(reply: Reply, options?: Parameters<typeof scripted>[1]) {
  const { seen, listener } = scripted(reply, options);
  return { seen, url: `http://127.0.0.1:${await listening(createServer(listener))}` };
}

interface Asked extends Partial<Omit<RemoteOptions, 'network'>> {
  env?: Record<string, string>;
  url: string;
}

function ask({ url, env = {}, ...rest }: Asked, request: RemoteRequest = { path: '/v1/gw/x' }) {
  return connectRemote({ url, key: 'sk-gw-test' }, { network: async () => networkIn(env), ...rest })(request);
}

/** The message and the exit code of a failed request. */
async function failure(asked: Asked): Promise<[string, number]> {
  const error: unknown = await ask(asked).catch((thrown: unknown) => thrown);
  if (!(error instanceof Error)) throw new Error('the request succeeded');
  return [error.message, exitCodeOf(error)];
}

const fault = (code: string, type: string, message = 'no') => ({
  error: { message, type, code, param: null },
});

describe('connectRemote()', () => {
  test('sends method, query, body and key, and returns the body', async () => {
    const { url, seen } = await serverOf({ body: { data: [1] } });
    const answer = await ask(
      { url },
      { method: 'PUT', path: '/v1/gw/x', query: { a: 'b c', n: 2, none: undefined }, body: { cap: 1 } },
    );
    expect(answer).toEqual({ data: [1] });
    expect(seen[1]).toEqual({
      path: '/v1/gw/x?a=b+c&n=2',
      method: 'PUT',
      key: 'Bearer sk-gw-test',
      body: '{"cap":1}',
    });
  });

  test('asks /health once, and without the key', async () => {
    const { url, seen } = await serverOf({ body: {} });
    const request = connectRemote({ url, key: 'sk-gw-test' }, { network: async () => DIRECT });
    await Promise.all([request({ path: '/v1/gw/a' }), request({ path: '/v1/gw/b' })]);
    expect(seen.map(({ path, key }) => [path, key])).toEqual([
      ['/health', undefined],
      ['/v1/gw/a', 'Bearer sk-gw-test'],
      ['/v1/gw/b', 'Bearer sk-gw-test'],
    ]);
  });

  test('works under a path of the host', async () => {
    const { url, seen } = await serverOf({}, { health: { status: 404, text: 'no' } });
    await failure({ url: `${url}/gw` });
    expect(seen[0]?.path).toBe('/gw/health');
  });
});

describe('what is not a gw does not get the key:', () => {
  const cases: [string, Reply, string][] = [
    [
      'a web page',
      { text: '<!doctype html><h1>Welcome' },
      'no gw answers at <url>: it sent a web page (HTTP 200)',
    ],
    [
      'other JSON',
      { status: 404, body: { detail: 'Not Found' } },
      'it sent other JSON (HTTP 404). Check the URL',
    ],
    ['text', { text: 'OK' }, 'it sent something else (HTTP 200)'],
    [
      'an error in our shape',
      { status: 401, body: fault('invalid_api_key', 'x') },
      'it sent other JSON (HTTP 401)',
    ],
    [
      'a redirect',
      { status: 308, headers: { location: 'https://gw.example.com/health' }, text: '' },
      '<url> redirects to https://gw.example.com: use the URL that answers there',
    ],
    [
      'a proxy without gw',
      { status: 502, text: '<html>Bad Gateway' },
      'a proxy before <url> answers HTTP 502: the gw behind it is down or out of reach',
    ],
    ['a proxy that wants a password', { status: 407, text: '' }, 'asks for a password (HTTP 407)'],
  ];
  test.each(cases)('%s', async (_name, health, message) => {
    const { url, seen } = await serverOf({}, { health });
    const [text, code] = await failure({ url });
    expect(text).toContain(message.replace('<url>', url));
    expect(code).toBe(EXIT.daemonDown);
    expect(seen.map(({ key }) => key)).toEqual([undefined]);
  });

  test('a gw of a later major version', async () => {
    const { url, seen } = await serverOf({}, { version: '9.1.0' });
    expect(await failure({ url })).toEqual([
      `${url} runs gw 9.1.0, which gw ${VERSION} does not understand: update this gw`,
      EXIT.failure,
    ]);
    expect(seen).toHaveLength(1);
  });

  test('a gw that is too old', async () => {
    const { url } = await serverOf({}, { version: '0.0.9' });
    expect(await failure({ url })).toEqual([
      `${url} runs gw 0.0.9, which other machines cannot manage: update it to 0.2.0 or later`,
      EXIT.failure,
    ]);
  });

  test('a gw that is called by a name it does not know', async () => {
    const body = fault('forbidden_host', 'permission_error', 'Host "x" is not allowed');
    const { url } = await serverOf({}, { health: { status: 403, body } });
    expect(await failure({ url })).toEqual(['Host "x" is not allowed', EXIT.key]);
  });
});

describe('a gw that refuses:', () => {
  test.each(['0.10.3', '0.2.0-beta.1'])('version %s is asked', async (version) => {
    const { url } = await serverOf({ body: { fine: true } }, { version });
    expect(await ask({ url })).toEqual({ fine: true });
  });

  test('a path that it lacks names both versions', async () => {
    const reply = { status: 404, body: fault('unknown_endpoint', 'not_found_error') };
    const { url } = await serverOf(reply, { version: '0.2.0' });
    expect(await failure({ url })).toEqual([
      `${url} runs gw 0.2.0, which has no /v1/gw/x. This is gw ${VERSION}: update the older one`,
      EXIT.failure,
    ]);
  });

  test('a key that it does not know', async () => {
    const { url } = await serverOf({ status: 401, body: fault('invalid_api_key', 'authentication_error') });
    expect(await failure({ url })).toEqual([
      `${url} does not know the key, or it was revoked. To use another: export GW_KEY=KEY, or: gw login ${url}`,
      EXIT.key,
    ]);
  });

  test('a key without the right', async () => {
    const { url } = await serverOf({ status: 403, body: fault('admin_required', 'permission_error') });
    const [message, code] = await failure({ url });
    expect(message).toBe(
      `this needs an admin key of ${url}. To make one, on its machine: gw keys create --admin`,
    );
    expect(code).toBe(EXIT.key);
  });

  test.each([
    ['not_found_error', 404, EXIT.notFound],
    ['invalid_request_error', 400, EXIT.usage],
    ['insufficient_quota', 402, EXIT.overBudget],
    ['a_type_of_tomorrow', 400, EXIT.failure],
  ])('%s keeps its message and exit code', async (type, status, exitCode) => {
    const { url } = await serverOf({ status, body: fault('budget_exceeded', type, 'its own words') });
    expect(await failure({ url })).toEqual(['its own words', exitCode]);
  });

  test('a proxy that fails after /health is named', async () => {
    const { url } = await serverOf({ status: 504, text: '<html>' });
    expect((await failure({ url }))[0]).toContain('answers HTTP 504');
  });
});

describe('without an answer:', () => {
  test('nothing listens', async () => {
    const server = createTcpServer();
    const port = await listening(server);
    server.close();
    await once(server, 'close');
    const url = `http://127.0.0.1:${port}`;
    expect(await failure({ url })).toEqual([
      `nothing listens at ${url}: check the URL, and that gw runs there`,
      EXIT.daemonDown,
    ]);
  });

  test('a name that does not exist', async () => {
    const [message, code] = await failure({ url: 'http://gw.invalid' });
    expect(message).toMatch(/^no address is known for gw\.invalid \((ENOTFOUND|EAI_AGAIN)\): check the URL/);
    expect(code).toBe(EXIT.daemonDown);
  });

  test('a server that says nothing', async () => {
    const url = `http://127.0.0.1:${await listening(createTcpServer())}`;
    expect(await failure({ url, timeoutMs: 50 })).toEqual([
      `${url} did not answer within 0.05 s`,
      EXIT.daemonDown,
    ]);
  });

  test('a server that hangs up', async () => {
    const url = `http://127.0.0.1:${await listening(createTcpServer((socket) => void socket.destroy()))}`;
    expect((await failure({ url }))[0]).toMatch(/closed the connection without an answer/);
  });

  test('a server that speaks no HTTP', async () => {
    const url = `http://127.0.0.1:${await listening(createTcpServer((socket) => void socket.end('SSH-2.0-x\r\n')))}`;
    expect((await failure({ url }))[0]).toBe(
      `${url} does not speak HTTP: check the port, and whether it is https`,
    );
  });

  test('https to a plain port', async () => {
    const { url } = await serverOf({});
    const https = url.replace('http:', 'https:');
    const [message, code] = await failure({ url: https });
    expect(message).toBe(`${https} does not speak TLS: check the port, or use ${url}`);
    expect(code).toBe(EXIT.daemonDown);
  });

  test('http to a TLS port', async () => {
    const server = createTlsServer(makeCertificate(), scripted({}).listener);
    const url = `http://127.0.0.1:${await listening(server)}`;
    expect((await failure({ url }))[0]).toMatch(/check the port, and whether it is https$/);
  });

  test('a certificate that nobody vouches for', async () => {
    const server = createTlsServer(makeCertificate(), scripted({}).listener);
    const url = `https://127.0.0.1:${await listening(server)}`;
    const [message, code] = await failure({ url });
    expect(message).toMatch(/^the certificate of https:.* is not trusted \(\w+\): .*tls\.ca_file FILE\.pem$/);
    expect(code).toBe(EXIT.daemonDown);
  });
});

/** A forwarding proxy: absolute-form requests, and CONNECT tunnels to `port` of this machine. */
async function proxyTo(port: number, refuseWith?: number) {
  const seen: string[] = [];
  const { listener } = scripted({ body: { via: 'proxy' } });
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    if (refuseWith) response.writeHead(refuseWith).end('<html>');
    else listener(request, response);
  });
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`);
    if (refuseWith) return void socket.end(`HTTP/1.1 ${refuseWith} No\r\n\r\n`);
    const onward = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    onward.pipe(socket).pipe(onward);
    for (const each of [onward, socket]) each.on('error', () => each.destroy());
    onTestFinished(() => void onward.destroy());
  });
  return { seen, proxy: `http://127.0.0.1:${await listening(server)}` };
}

describe('a proxy of the environment', () => {
  test('forwards http', async () => {
    const { proxy, seen } = await proxyTo(0);
    expect(await ask({ url: 'http://gw.example.com', env: { HTTP_PROXY: proxy } })).toEqual({ via: 'proxy' });
    expect(seen).toEqual(['http://gw.example.com/health', 'http://gw.example.com/v1/gw/x']);
  });

  test('tunnels https', async () => {
    const port = await listening(createTlsServer(makeCertificate(), scripted({}).listener));
    const { proxy, seen } = await proxyTo(port);
    const [message] = await failure({ url: 'https://gw.example.com', env: { https_proxy: proxy } });
    // The tunnel works; what is behind it has no certificate for the name.
    expect(message).toMatch(/^the certificate of https:\/\/gw\.example\.com/);
    expect(seen).toEqual(['CONNECT gw.example.com:443']);
  });

  test('is left out for names in NO_PROXY, and always for this machine', async () => {
    const { proxy, seen } = await proxyTo(0);
    const env = { HTTP_PROXY: proxy, NO_PROXY: '.invalid' };
    await failure({ url: 'http://gw.invalid', env });
    const { url } = await serverOf({ body: {} });
    await ask({ url, env });
    expect(seen).toEqual([]);
  });

  test.each(['http', 'https'])('that wants a password for %s is named', async (scheme) => {
    const { proxy } = await proxyTo(0, 407);
    const url = `${scheme}://gw.example.com`;
    const [message, code] = await failure({ url, env: { http_proxy: proxy } });
    expect(message).toBe(
      `the proxy between this machine and ${url} asks for a password (HTTP 407): gw config set proxy.url http://USER:PASSWORD@HOST:PORT`,
    );
    expect(code).toBe(EXIT.daemonDown);
  });

  test('that opens no tunnel is named', async () => {
    const { proxy } = await proxyTo(0, 502);
    expect(await failure({ url: 'https://gw.example.com', env: { HTTPS_PROXY: proxy } })).toEqual([
      `the proxy answers HTTP 502 and does not connect to gw.example.com through ${proxy} (HTTPS_PROXY)`,
      EXIT.daemonDown,
    ]);
  });

  test('that is down is named', async () => {
    const [message] = await failure({
      url: 'http://gw.example.com',
      env: { HTTP_PROXY: 'http://127.0.0.1:1' },
    });
    expect(message).toContain('HTTP_PROXY is set: to go around it, add gw.example.com to NO_PROXY');
  });

  test('that is not a URL is named', async () => {
    const [message] = await failure({ url: 'http://gw.example.com', env: { HTTP_PROXY: 'not a url' } });
    expect(message).toMatch(/^HTTP_PROXY is "not a url", which is not the address of an http\(s\) proxy/);
  });
});
