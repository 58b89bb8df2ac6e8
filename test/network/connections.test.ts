import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { openConnections } from '../../src/network/connections.ts';
import { wayOut } from '../../src/network/way-out.ts';

/** Comes in one piece, so that nothing is left to read when the connection ends. */
const BODY = Buffer.alloc(100, 'a');

/** A server that answers with these bytes, and then ends the connection in its own way. */
async function serve(answer: Buffer, end: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(answer, () => end(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Reads an answer as a client that pauses it and does not go on. */
function readSlowly(origin: string): Promise<number> {
  const pool = openConnections(origin, wayOut(new URL(origin), { proxyUrl: '', env: {} }), {
    secureContext: undefined,
  });
  onTestFinished(() => pool.destroy());
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const handler: Dispatcher.DispatchHandler = {
      onConnect: () => {},
      onHeaders: () => true,
      onData: (chunk) => {
        bytes += chunk.length;
        return false;
      },
      onComplete: () => resolve(bytes),
      onError: reject,
    };
    pool.dispatch({ path: '/', method: 'GET' }, handler);
  });
}

const HEAD = 'HTTP/1.1 200 OK\r\nConnection: close\r\n';
const FRAMINGS = {
  'a length': Buffer.concat([Buffer.from(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n`), BODY]),
  'its end alone': Buffer.concat([Buffer.from(`${HEAD}\r\n`), BODY]),
};

test.each(Object.entries(FRAMINGS))(
  'an answer with %s is whole, though its connection ends while the client has paused it',
  async (_, answer) => {
    const origin = await serve(answer, (socket) => socket.end());
    expect(await readSlowly(origin)).toBe(BODY.length);
  },
);

test('a connection that is reset while the client has paused it ends the answer, and not the process', async () => {
  const origin = await serve(FRAMINGS['its end alone'], (socket) => socket.resetAndDestroy());
  const end = readSlowly(origin).then(
    () => 'whole',
    ({ code }: NodeJS.ErrnoException) => code,
  );
  expect(['whole', 'ECONNRESET', 'UND_ERR_SOCKET']).toContain(await end);
});
