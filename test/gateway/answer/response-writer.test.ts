import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { ResponseWriter } from '../../../src/gateway/answer/response-writer.ts';
import { openExchange } from '../../../src/gateway/context/exchange.ts';

let server: Server;

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** A server that answers with what a test writes. */
async function serving(answer: (body: ResponseWriter, response: ServerResponse) => void): Promise<number> {
  server = createServer((request, response) => {
    const exchange = openExchange(1, request, response, 0);
    answer(new ResponseWriter(exchange, 60_000), response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** All that a server sends on a connection. */
async function raw(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const received: Buffer[] = [];
  socket.on('data', (bytes) => received.push(bytes));
  socket.write(request);
  await once(socket, 'close');
  return Buffer.concat(received).toString('latin1');
}

const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

describe('the body of an answer', () => {
  test('arrives whole, however it is cut into chunks', async () => {
    let pieces: Buffer[] = [];
    const port = await serving((body) => {
      body.head(200, ['content-type', 'text/event-stream']);
      for (const piece of pieces.slice(0, -1)) body.write(piece, () => {});
      body.end(pieces.at(-1) ?? Buffer.alloc(0));
    });
    const sizes = fc.oneof(fc.nat(300), fc.constantFrom(0, 16 * 1024, 16 * 1024 + 1, 200_000));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(sizes, fc.nat(255)), { maxLength: 8 }), async (cuts) => {
        pieces = cuts.map(([size, byte]) => Buffer.alloc(size, Buffer.from([byte, 13, 10, 48, 255])));
        const answer = await fetch(`http://127.0.0.1:${port}/`);
        expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.concat(pieces))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test('is framed in chunks that name their sizes', async () => {
    const port = await serving((body) => {
      body.head(200, []);
      body.write(Buffer.from('data: é\n\n'), () => {});
      body.write(Buffer.alloc(0), () => {});
      body.end(Buffer.from('data: [DONE]\n\n'));
    });
    const answer = await raw(port, 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    const sent = Buffer.from('a\r\ndata: é\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n').toString('latin1');
    expect(answer.toLowerCase()).toContain('transfer-encoding: chunked');
    expect(bodyOf(answer)).toBe(sent);
  });

  test('leaves its connection to the next request', async () => {
    const port = await serving((body) => {
      body.head(200, []);
      body.end(Buffer.from('a'));
    });
    const one = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
    const answers = await raw(port, `${one}${one.replace('x\r\n', 'x\r\nconnection: close\r\n')}`);
    expect(answers.match(/1\r\na\r\n0\r\n\r\n/g)).toHaveLength(2);
  });

  test.each([
    ['to a client of HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', []],
    ['of a known length', 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', ['content-length', '3']],
  ])('%s is not framed', async (_, request, headers) => {
    const port = await serving((body) => {
      body.head(200, [...headers]);
      body.write(Buffer.from('a'), () => {});
      body.end(Buffer.from('bc'));
    });
    expect(bodyOf(await raw(port, request))).toBe('abc');
  });

  test('that breaks off lacks its last chunk', async () => {
    const port = await serving((body) => {
      body.head(200, []);
      body.write(Buffer.from('a'), () => {});
      body.breakOff(Buffer.from('b'));
    });
    const answer = await raw(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(bodyOf(answer)).toBe('1\r\na\r\n1\r\nb\r\n');
  });

  test('waits for a client that reads slowly', async () => {
    const port = await serving((body, response) => {
      body.head(200, []);
      const goOn = () => body.end(Buffer.from(String(response.writableLength)));
      if (body.write(Buffer.alloc(8_000_000), goOn)) goOn();
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    const text = await answer.text();
    expect(text.length).toBe(8_000_001);
    expect(text.endsWith('0')).toBe(true);
  });
});
