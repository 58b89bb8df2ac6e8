import * as zlib from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { decodeZstd } from '../../src/gateway/intake/decode-zstd.ts';
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

const { zstdCompressSync } = zlib as { zstdCompressSync?: (text: string) => Buffer };

const ENCODERS: [name: string, encoding: string, encode: ((text: string) => Buffer) | undefined][] = [
  ['gzip', 'gzip', zlib.gzipSync],
  ['deflate', 'deflate', zlib.deflateSync],
  ['br', 'br', zlib.brotliCompressSync],
  ['zstd', 'zstd', zstdCompressSync],
  [
    'zstd of two frames',
    'zstd',
    zstdCompressSync &&
      ((text) => Buffer.concat([zstdCompressSync(text.slice(0, 20)), zstdCompressSync(text.slice(20))])),
  ],
];

describe.each(ENCODERS.filter(([, , encode]) => encode))(
  'an answer in %s although identity was asked for',
  (_name, encoding, encode) => {
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

const DECODERS: Record<string, (body: Buffer) => Uint8Array | undefined> = {
  gzip: (body) => zlib.gunzipSync(body),
  deflate: (body) => zlib.inflateSync(body),
  br: (body) => zlib.brotliDecompressSync(body),
  zstd: (body) => decodeZstd(body, 10_000),
};

const decode = (encoding: string, body: Buffer): string =>
  Buffer.from(DECODERS[encoding]?.(body) ?? []).toString();
