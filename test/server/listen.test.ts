import { connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Handlers, listen } from '../../src/server/listen.ts';
import { openConnection, request, requestBytes } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';

const HELLO: Handlers = {
  onRequest: (_request, response) => void response.end('hello'),
  onUnreadable: (_error, socket) => void socket.destroy(),
};

async function listening(host: string, handlers: Partial<Handlers> = {}) {
  const listener = await listen({ host, port: 0 });
  listener.serve({ ...HELLO, ...handlers });
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
    await expect(listen({ host: 'localhost', port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    taken.close();
  });

  test('rejects on an address of another machine', async () => {
    await expect(listen({ host: '192.0.2.1', port: 0 })).rejects.toMatchObject({
      code: 'EADDRNOTAVAIL',
    });
  });
});

describe('serve()', () => {
  test('answers what came before it, and tells who asks for health that gw is starting', async () => {
    const listener = await listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => listener.close());
    const url = `http://127.0.0.1:${listener.port}`;
    const early = request(`${url}/v1/models`, { method: 'GET' });
    const gone = await openConnection(url);
    await gone.send(requestBytes(`${url}/gone`, { body: {} }));
    const health = await request(`${url}/health`, { method: 'GET' });
    expect([health.status, health.json()]).toEqual([503, { status: 'starting' }]);
    gone.hangUp();
    expect((await request(`${url}/health`, { method: 'GET' })).status).toBe(503);
    const seen: (string | undefined)[] = [];
    listener.serve({
      ...HELLO,
      onRequest: ({ url }, response) => {
        seen.push(url);
        response.end('hello');
      },
    });
    expect((await early).text()).toBe('hello');
    expect((await request(`${url}/health`, { method: 'GET' })).text()).toBe('hello');
    expect(seen).toEqual(['/v1/models', '/health']);
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
    await expect(Promise.all([closing, connection.closed])).resolves.toHaveLength(2);
  });
});
