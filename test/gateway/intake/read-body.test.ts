import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { ClientGone } from '../../../src/gateway/context/exchange.ts';
import { readBody } from '../../../src/gateway/intake/read-body.ts';
import { createBodyMemory } from '../../../src/gateway/state/body-memory.ts';

test('the memory of a body is released when its client leaves during decoding', async () => {
  const memory = createBodyMemory(() => 500, systemClock);
  const read = new Promise((resolve) => {
    const server = createServer((request, response) => {
      const body = readBody(request, { maxBytes: 4_000_000, memory }, 'json', response);
      request.once('end', () => request.socket.destroy());
      response.once('close', () => resolve(body.catch((error: unknown) => error)));
    });
    onTestFinished(() => void server.close());
    server.listen(0, '127.0.0.1', () => {
      const body = gzipSync(Buffer.alloc(4_000_000));
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      client.on('error', () => {});
      client.write(
        `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`,
      );
      client.write(body);
    });
  });
  expect(await read).toBeInstanceOf(ClientGone);
  // Exactly the whole limit is available again.
  const others = [memory.open(), memory.open()];
  expect(others[0]?.take(100)).toBe(true);
  // One body may pass the limit.
  expect(others[1]?.take(1)).toBe(true);
  expect(memory.open().take(1)).toBe(false);
});

test.each([
  ['while it is read', false],
  ['before it is read', true],
])('a whole body whose connection is destroyed %s is not waited for', async (_when, isBefore) => {
  const read = new Promise((resolve) => {
    const server = createServer(async (request) => {
      await expect.poll(() => request.complete).toBe(true);
      request.destroy();
      if (isBefore) await new Promise((closed) => request.once('close', closed));
      resolve(readBody(request, { maxBytes: 100 }).catch((error: unknown) => error));
    });
    onTestFinished(() => void server.close());
    server.listen(0, '127.0.0.1', () => {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      client.on('error', () => {});
      client.write(
        'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
      );
    });
  });
  expect(await read).toBeInstanceOf(ClientGone);
});
