import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { decodeZstd } from '../../../src/gateway/intake/decode-zstd.ts';
import { decompress, unzstdInThread } from '../../../src/gateway/intake/decompress.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const base64 = (text: string) => Buffer.from(text, 'base64');
const MAX_BYTES = 1_000_000;
const LIMIT = { maxOutputLength: MAX_BYTES };

/** Written by zstd 1.5: a stream with a window of 2 MB, and the same text with its size in the header. */
const STREAMED = base64(
  'KLUv/QRYNAEA8HsidGV4dCI6IlRoZSBxdWljayBicm93biBmb3g7IAEAfv9jPp1MAAAIZQEA/P85EAJdAAAYdyJ9AQB9Th0IAT7USus=',
);
const SIZED = base64(
  'KLUv/aSDzgQANAEA8HsidGV4dCI6IlRoZSBxdWljayBicm93biBmb3g7IAEAfv9jPp1EAAAAAQD9/5hPIFUAABAifQEAfk4dAAE+1Err',
);
const TEXT = JSON.stringify({ text: 'The quick brown fox; '.repeat(15_000) });
/** Huffman coded. */
const WORDS = base64(
  'KLUv/QRY5QkA8kYUFaClbcFZHwoBAXxUlSipk4Q2hftvYIAi9hm0//BHZGS2klbPfS7OtHpjP7xtO0buN/ExlmnVeEcbZFdQptUadRcsoYNiqFFWMlAQWaNIpqGEgICoQeIa9j8DYCIiVWYeEXAYwjSmSDVzVER1PqK924hg7yogAFcJ2AbpBO5YH1cj5mc2SAyybbtZi57RvDfCc7itjlIHzLqETtvT3gzcuVMhmftAdrfjHryQFDyINO7ohA3/wlgM4mVqwuztxMgdSrpd2Mrdq250WW9J6gvSK74UNj97dR2gxYSpZh9YIrY+6ybHuyfazMA2sa+71iUn5qhnUwXjzSXe9THYZeuYLiUN+UnEYaAEtcGqZijlZKmh25TMZH3C9wN3Eb+6BUC2li4Vj6HCwgkkMcmgzZwM1d2+A3j4BdHHVY+8a0c=',
);
const SKIPPABLE = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

/** A frame of blocks that repeat a byte; `window` is the header's window descriptor. */
function runs(sizes: readonly number[], { window = 0x38 } = {}): Buffer {
  const blocks = sizes.map((size, i) => {
    const header = (size << 3) | (1 << 1) | Number(i === sizes.length - 1);
    return Buffer.from([header & 255, (header >> 8) & 255, header >> 16, 0x20]);
  });
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window]), ...blocks]);
}

/** A damaged frame with which fzstd 0.1.1 doesn't come to an end. */
const ENDLESS = base64(
  'KLUv/QQ4NAEA8HsidGV4dCI6IlRoZSBxdWljayBicm93biBmb3g7IAEUfv9jPp1MAAAIZQEA/P85EAJdAAAYdyJ9AQB9Th0IAT7USus=',
);

/** As bodies are decoded: by Node, where it can. */
const decodeBody = (body: Buffer, { maxOutputLength }: typeof LIMIT) =>
  decompress(body, 'zstd', {
    maxBytes: maxOutputLength,
    tooLarge: () =>
      new GwError('too large', { status: 413, type: 'api_error', code: 'ERR_BUFFER_TOO_LARGE' }),
    take: () => undefined,
  });

describe.each([
  ['decompress', decodeBody],
  ['unzstdInThread', unzstdInThread],
])('%s()', (_name, decode) => {
  test.each([
    ['a stream', STREAMED],
    ['a frame with its size', SIZED],
  ])('decodes %s', async (_kind, body) => {
    expect((await decode(body, LIMIT)).toString()).toBe(TEXT);
  });

  test('decodes all frames of a body', async () => {
    expect((await decode(Buffer.concat([STREAMED, SIZED]), LIMIT)).toString()).toBe(TEXT + TEXT);
  });

  test('decodes words', async () => {
    const words = JSON.parse((await decode(WORDS, LIMIT)).toString()) as string[];
    expect(words).toHaveLength(120);
    expect(words[0]).toMatch(/^[a-z]+\d+$/);
  });

  test('refuses a body that grows beyond the limit, declared or not', async () => {
    const limit = { maxOutputLength: TEXT.length - 1 };
    for (const body of [STREAMED, SIZED, runs(new Array(1_000).fill(128 * 1024))]) {
      await expect(decode(body, limit)).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' });
    }
    expect(await decode(STREAMED, { maxOutputLength: TEXT.length })).toHaveLength(TEXT.length);
  });

  test.each([
    ['text', Buffer.from('{"model":"m"}')],
    ['a body cut in a block', STREAMED.subarray(0, -20)],
    ['a body cut in its checksum', STREAMED.subarray(0, -1)],
    ['a body cut in its header', STREAMED.subarray(0, 5)],
    ['a body cut in its second frame', Buffer.concat([STREAMED, SIZED.subarray(0, -20)])],
  ])('rejects %s', async (_kind, body) => {
    await expect(decode(body, LIMIT)).rejects.toThrow();
  });
});

test('a body that never ends is given up, and those behind it are decoded', async () => {
  const clock = createVirtualClock();
  const endless = unzstdInThread(ENDLESS, { ...LIMIT, clock });
  const rejected = expect(endless).rejects.toThrow('longer than 10000 ms');
  const next = unzstdInThread(STREAMED, LIMIT);
  await new Promise(setImmediate);
  await clock.advance(10_000);
  await rejected;
  expect((await next).toString()).toBe(TEXT);
});

describe('decodeZstd()', () => {
  const decode = (body: Buffer) => decodeZstd(body, MAX_BYTES);

  test('decodes frames one after the other and skips those without content', () => {
    const body = Buffer.concat([SKIPPABLE, STREAMED, SKIPPABLE, SIZED]);
    expect(decode(body)?.toString()).toBe(TEXT + TEXT);
  });

  test.each([
    ['a window of 2 GB', runs([1], { window: 0xa0 }), 'window'],
    ['a dictionary', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 0x38, 7, 1, 0, 0]), 'dictionary'],
    ['a size that is not true', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x43, 0, 0, 0x20]), 'bounds'],
    ['an endless chain of empty frames', Buffer.concat(new Array(100_000).fill(SKIPPABLE)), 'call stack'],
  ])('refuses %s', (_kind, body, reason) => {
    expect(() => decode(body)).toThrow(reason);
  });

  const { zstdCompressSync } = zlib as { zstdCompressSync?: typeof zlib.gzipSync };
  test.skipIf(!zstdCompressSync)('decodes what zlib encodes', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), fc.nat(200), (text, times) => {
        const body = zstdCompressSync?.(text.repeat(times)) ?? Buffer.alloc(0);
        expect(decode(body)?.toString()).toBe(text.repeat(times));
      }),
    );
  });
});
