import { connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../src/server/listen.ts';
import { openConnection, request } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';

type Handlers = Omit<Parameters<typeof listen>[0], 'host' | 'port'>;

const HELLO: Handlers = {
  onRequest: (_request, response) => void response.end('hello'),
  onUnreadable: (_error, socket) => void socket.destroy(),
};

async function listening(host: string, handlers: Partial<Handlers> = {}) {
  const listener = await listen({ host, port: 0, ...HELLO, ...handlers });
  onTestFinished(async () => {
    listener.cut();
    await listener.close().catch(() => {});
  });
  return listener;
}

describe('listen()', () => {
  test('answers on both loopback addresses of localhost, on one port', async () => {
    const { port } = await listening('localhost');
    expect((await request(`http://127.0.0.1:${port}/`, { method: 'GET' })).text()).toBe('hello');
    const socket = connect({ host: '::1', port });
    const outcome = await new Promise((resolve) => {
      socket.once('connect', () => resolve('connected'));
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    socket.destroy();
    // A machine without IPv6 has the first only.
    expect(['connected', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENETUNREACH']).toContain(outcome);
  });

  test('rejects with EADDRINUSE on a port in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    await expect(listen({ host: 'localhost', port, ...HELLO })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    taken.close();
  });

  test('rejects on an address of another machine', async () => {
    await expect(listen({ host: '192.0.2.1', port: 0, ...HELLO })).rejects.toMatchObject({
      code: 'EADDRNOTAVAIL',
    });
  });
});

describe('close()', () => {
  test('waits for a running response, but not for idle connections', async () => {
    const gate = deferred<void>();
    const { port, close } = await listening('127.0.0.1', {
      onRequest: (incoming, response) => {
        if (incoming.url === '/slow') void gate.promise.then(() => response.end('slow'));
        else response.end('fast');
      },
    });
    const url = `http://127.0.0.1:${port}`;
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    const [idle, busy] = [await openConnection(url), await openConnection(url)];
    await idle.send(get('/fast'));
    await idle.response();
    await busy.send(get('/slow'));
    await idle.send(get('/fast'));
    await idle.response();
    let closed = false;
    const closing = close().then(() => {
      closed = true;
    });
    await idle.closed;
    expect(closed).toBe(false);
    gate.resolve();
    expect((await busy.response()).text()).toBe('slow');
    await closing;
    await busy.closed;
  });

  test('resolves at once after cut()', async () => {
    const { port, close, cut } = await listening('127.0.0.1', { onRequest: () => {} });
    const connection = await openConnection(`http://127.0.0.1:${port}`);
    await connection.send('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const closing = close();
    cut();
    await closing;
    await connection.closed;
  });
});
