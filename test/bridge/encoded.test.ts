import * as zlib from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { MODEL, PLAIN, startGateway } from '../support/gateway.ts';
import { respond } from '../support/scripts.ts';
import { send } from '../wire/support/send.ts';

const usage = usageOf(100, 20);
const events = [
  chunkBody('m', { delta: { content: 'Hello you' } }),
  chunkBody('m', { finish_reason: 'stop' }),
  chunkBody('m', undefined, { usage }),
];
const STREAM = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
const WHOLE = JSON.stringify(completionBody('m', 'Hello you', usage));
const MESSAGES = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };

const ENCODERS: Record<string, ((text: string) => Buffer) | undefined> = {
  gzip: zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: zlib.brotliCompressSync,
  zstd: (zlib as { zstdCompressSync?: (text: string) => Buffer }).zstdCompressSync,
};

describe.each(Object.entries(ENCODERS).filter(([, encode]) => encode))(
  'an answer in %s although identity was asked for',
  (encoding, encode) => {
    const type = (stream: boolean) => (stream ? 'text/event-stream' : 'application/json');

    test.each([
      ['a client of chat completions', '/v1/chat/completions', PLAIN, true],
      ['a client of chat completions', '/v1/chat/completions', PLAIN, false],
      ['a client of messages', '/v1/messages', MESSAGES, true],
      ['a client of messages', '/v1/messages', MESSAGES, false],
    ])('is read by %s, and booked as reported', async (_, path, body, stream) => {
      const gateway = await startGateway();
      const bytes = encode?.(stream ? STREAM : WHOLE) ?? Buffer.alloc(0);
      gateway.upstream.script(
        respond(200, { 'content-type': type(stream), 'content-encoding': encoding }, bytes),
      );
      const response = await send(gateway, path, { ...body, stream });
      expect(response.status).toBe(200);
      const decoded =
        response.header('content-encoding') === encoding ? decode(encoding, response.body) : response.text();
      expect(decoded).toContain('Hello you');
      const [record] = await gateway.settled(1);
      expect(record).toMatchObject({
        inputTokens: 100,
        outputTokens: 20,
        outcome: 'ok',
        flags: stream ? ['stream'] : [],
      });
    });
  },
);

function decode(encoding: string, body: Buffer): string {
  const decoders = zlib as unknown as Record<string, (body: Buffer) => Buffer>;
  const name =
    { gzip: 'gunzipSync', deflate: 'inflateSync', br: 'brotliDecompressSync', zstd: 'zstdDecompressSync' }[
      encoding
    ] ?? '';
  return String(decoders[name]?.(body));
}
