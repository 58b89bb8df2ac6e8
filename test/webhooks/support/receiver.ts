import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../../src/clock.ts';

/** A request as it came in. */
export interface Received {
  /** By the test's clock. */
  at: number;
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export type Answer = (response: ServerResponse, request: Received, receiver: Receiver) => void;

/** A webhook receiver on a real socket that does what its script says. */
export interface Receiver {
  url: string;
  port: number;
  received: Received[];
  /** Requests that the script leaves without an end. */
  hanging: number;
  /** Bytes that went out over all connections. */
  bytesSent: number;
  /** Says that this response will not end; it is counted as hanging until its connection closes. */
  hang(response: ServerResponse): void;
  close(): Promise<void>;
}

export const answerOk: Answer = (response) => response.end('ok');

export async function createReceiver(clock: Clock, answer: Answer = answerOk): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '/', headers } = request;
      const received = { at: clock.now(), path, headers, body: Buffer.concat(chunks) };
      receiver.received.push(received);
      answer(response, received, receiver);
    });
    response.on('error', () => undefined);
  });
  server.on('connection', (socket) =>
    socket.on('close', () => {
      receiver.bytesSent += socket.bytesWritten;
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    port,
    received: [],
    hanging: 0,
    bytesSent: 0,
    hang(response) {
      receiver.hanging++;
      response.on('close', () => {
        receiver.hanging--;
      });
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return receiver;
}
