import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSend, type Post, type SendResult } from '../../src/webhooks/send.ts';
import { DIRECT, networkIn } from '../support/network.ts';
import { type Answer, createReceiver, type Receiver } from './support/receiver.ts';
import { SELF_SIGNED } from './support/self-signed.ts';
import { createVirtualClock } from './support/virtual-clock.ts';
import { LOCAL, until } from './support/world.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const send = createSend({ network: () => DIRECT, policy: () => LOCAL, clock: systemClock });
const postTo = (url: string, changes: Partial<Post> = {}): Post => ({
  url,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"a":"ü"}'),
  secrets: [],
  ...changes,
});

async function receiver(answer: Answer): Promise<Receiver> {
  const made = await createReceiver(systemClock, answer);
  cleanups.push(() => made.close());
  return made;
}

/** A server below HTTP. */
async function tcp(onSocket: (socket: Socket) => void): Promise<string> {
  return listening(
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      onSocket(socket);
    }),
  );
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const failure = { ok: false, status: null, response: null };

describe('send()', () => {
  it('posts the bytes that it was given', async () => {
    const { url, received } = await receiver((response) => response.end('thanks'));
    const result = await send(postTo(`${url}/a?b=c`));
    expect(result).toMatchObject({ ok: true, status: 200, error: null, response: 'thanks' });
    expect(received).toMatchObject([{ path: '/a?b=c', body: Buffer.from('{"a":"ü"}') }]);
    expect(received[0]?.headers['content-length']).toBe('10');
  });

  it('says that nobody listens', async () => {
    const host = await tcp(() => undefined);
    await cleanups.pop()?.();
    const result = await send(postTo(`http://${host}/`));
    expect(result).toMatchObject({ ...failure, error: `connect ECONNREFUSED ${host}` });
  });

  it('says that a name is unknown', async () => {
    const unknown = createSend({
      network: () => DIRECT,
      policy: () => LOCAL,
      clock: systemClock,
      lookup: (_name, _options, callback) => callback(new Error('getaddrinfo ENOTFOUND hook.example'), []),
    });
    expect(await unknown(postTo('http://hook.example/'))).toMatchObject({
      ...failure,
      error: 'getaddrinfo ENOTFOUND hook.example',
    });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['resets the connection at once', (socket) => socket.resetAndDestroy()],
    ['resets it after the request', (socket) => socket.once('data', () => socket.resetAndDestroy())],
    ['closes it after the request', (socket) => socket.once('data', () => socket.end())],
    ['answers what is no HTTP', (socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n'))],
    [
      'breaks off in the headers',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nconte')),
    ],
    [
      'switches protocols',
      (socket) =>
        socket.once('data', () =>
          socket.write('HTTP/1.1 101 Up\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
        ),
    ],
    [
      'sends endless headers',
      (socket) => socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}`)),
    ],
  ])('counts it a failure if the receiver %s', async (_what, script) => {
    const result = await send(postTo(`http://${await tcp(script)}/`));
    expect(result).toMatchObject(failure);
    expect(result.error).toBeTruthy();
  });

  it('takes the status for the outcome if the body breaks off', async () => {
    const host = await tcp((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it');
        setTimeout(() => socket.resetAndDestroy(), 20);
      }),
    );
    expect(await send(postTo(`http://${host}/`))).toMatchObject({ ok: true, status: 200, error: null });
  });

  it.each([200, 500])('waits for the slow body of a %d no longer than 15 seconds', async (status) => {
    const clock = createVirtualClock();
    const { url, received } = await receiver((response) => {
      response.writeHead(status);
      response.write('slowly ');
    });
    let result: SendResult | undefined;
    void createSend({ network: () => DIRECT, policy: () => LOCAL, clock })(postTo(url)).then((ended) => {
      result = ended;
    });
    await until(() => received.length === 1, 'the request');
    clock.advance(14_999);
    // The status is on its way; nothing says when it has been read.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(result).toBeUndefined();
    clock.advance(1);
    await until(() => result !== undefined, 'the result');
    expect(result).toMatchObject({ ok: status === 200, status });
  });

  it('reads no more than the beginning of 100 MB', async () => {
    const chunk = Buffer.alloc(1_000_000, 'a');
    const hoard = await receiver((response) => {
      let left = 100;
      const more = () => {
        while (left-- > 0) if (!response.write(chunk)) return;
        response.end();
      };
      response.on('drain', more);
      more();
    });
    const result = await send(postTo(hoard.url));
    expect(result).toMatchObject({ ok: true, status: 200, response: 'a'.repeat(4096) });
    await until(() => hoard.bytesSent > 0, 'the end of the connection');
    expect(hoard.bytesSent).toBeLessThan(20_000_000);
  });

  it('inflates no compressed answer', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const { url } = await receiver((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(bomb);
    });
    expect((await send(postTo(url))).response).toBe(`(${bomb.length} bytes, gzip)`);
  });

  it('names the first encoding of an answer that has several', async () => {
    const { url } = await receiver((response) => {
      response.setHeader('content-encoding', ['br', 'gzip']);
      response.end('none of them');
    });
    expect(await send(postTo(url))).toMatchObject({ ok: true, error: null, response: '(12 bytes, br)' });
  });

  it('asks a proxy for no address that webhooks may not go to', async () => {
    let asked = '';
    const proxy = await tcp((socket) =>
      socket.on('data', (bytes) => {
        asked += bytes;
        socket.end();
      }),
    );
    const behindProxy = createSend({
      network: () => networkIn({ http_proxy: `http://${proxy}` }),
      policy: () => LOCAL,
      clock: systemClock,
      lookup: (_name, _options, callback) => callback(new Error('only the proxy knows'), []),
    });
    const refused = await behindProxy(postTo('http://169.254.169.254/latest'));
    expect(refused).toMatchObject({ ...failure, error: expect.stringContaining('169.254.169.254') });
    expect(asked).toBe('');
    expect(await behindProxy(postTo('http://hooks.invalid/in'))).toMatchObject(failure);
    expect(asked).toContain('hooks.invalid');
  });

  it.each([301, 302, 303, 307, 308])('follows no %d', async (status) => {
    const target = await receiver((response) => response.end());
    const { url } = await receiver((response) => {
      response.writeHead(status, { location: target.url });
      response.end();
    });
    expect(await send(postTo(url))).toMatchObject({
      ok: false,
      status,
      error: `HTTP ${status} (redirects are not followed)`,
    });
    expect(target.received).toEqual([]);
  });

  it.each<[string, () => Promise<string>]>([
    [
      'is not signed by anybody',
      () => listening(createTlsServer(SELF_SIGNED, (_, response) => response.end())),
    ],
    ['is missing', () => listening(createTlsServer((_, response) => response.end()))],
    ['would be on another port', () => tcp((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))],
  ])('trusts no server whose certificate %s', async (_what, start) => {
    const result = await send(postTo(`https://${await start()}/`));
    expect(result).toMatchObject(failure);
    expect(result.error).toBeTruthy();
  });

  it('gives up at once when it is told to', async () => {
    const controller = new AbortController();
    const { url, received } = await receiver(() => undefined);
    const result = send(postTo(url, { signal: controller.signal }));
    await until(() => received.length === 1, 'the request');
    controller.abort();
    expect(await result).toMatchObject({ ...failure, error: 'gw was stopped' });
  });

  it('keeps no secret of an answer that quotes the request', async () => {
    const token = 'T012/B345/aVerySecretToken';
    const { url } = await receiver((response) =>
      response.end(
        `no hook /services/${token}\u001b[31m for Bearer abcdefgh12345678 and whsec_c2VjcmV0c2VjcmV0`,
      ),
    );
    const result = await send(postTo(url, { secrets: [`/services/${token}`] }));
    expect(result.response).toBe('no hook [redacted][31m for [redacted] and [redacted]');
  });

  it('keeps no half of a secret where an answer is cut', async () => {
    const secret = 'a-secret-of-some-length-that-the-cut-goes-through';
    const repeated = `${secret} `.repeat(4_000);
    const { url } = await receiver((response) => response.end(repeated));
    const result = await send(postTo(url, { secrets: [secret] }));
    expect(result.response).not.toContain('secret');
    expect(Buffer.byteLength(result.response ?? '')).toBeLessThanOrEqual(4096);
  });
});
