import type { Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type DecodeZstdSync,
  decodeFrames,
  decodeFramesSync,
} from '../../../src/gateway/intake/zstd-frames.ts';

const { zstdCompressSync, zstdDecompressSync, createZstdDecompress } = zlib as unknown as {
  zstdCompressSync: (text: string) => Buffer;
  zstdDecompressSync: DecodeZstdSync;
  createZstdDecompress?: (options?: zlib.ZlibOptions) => Transform & zlib.Zlib;
};

const SKIPPABLE = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

const encode = (texts: readonly string[]): Buffer =>
  Buffer.concat(texts.map((text) => zstdCompressSync(text)));

/** Decodes what arrives in chunks. */
function decode(chunks: readonly Buffer[], options: zlib.ZlibOptions = {}): Promise<Buffer> {
  const decoder = decodeFrames(createZstdDecompress?.(options) as Transform & zlib.Zlib);
  const decoded = buffer(decoder);
  for (const chunk of chunks) decoder.write(chunk);
  decoder.end();
  return decoded;
}

/** Chunks of the sizes, again and again. */
function inChunks(body: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += chunks.at(-1)?.length ?? 0) {
    chunks.push(body.subarray(at, at + (sizes[chunks.length % sizes.length] ?? 1)));
  }
  return chunks;
}

// Node 20 has no decoder of zstd, and that of 26 needs no help.
const IS_USED = createZstdDecompress && Number.parseInt(process.versions.node, 10) < 26;

describe.skipIf(!IS_USED)('frames of zstd', () => {
  const texts = fc.array(
    fc.tuple(fc.string({ maxLength: 200 }), fc.nat(300)).map(([text, times]) => text.repeat(times)),
    { minLength: 1, maxLength: 8 },
  );
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 });

  test('are all decoded, however they arrive', () =>
    fc.assert(
      fc.asyncProperty(texts, sizes, async (parts, chunkSizes) => {
        const body = encode(parts);
        expect(decodeFramesSync(zstdDecompressSync, body, { maxOutputLength: 1e7 }).toString()).toBe(
          parts.join(''),
        );
        // Decoded by pieces of 64 bytes, as for a client that reads slowly.
        expect((await decode(inChunks(body, chunkSizes), { chunkSize: 64 })).toString()).toBe(parts.join(''));
      }),
    ));

  test('may be empty or have no content', async () => {
    const body = Buffer.concat([SKIPPABLE, encode(['a', '']), SKIPPABLE, encode(['b'])]);
    expect(decodeFramesSync(zstdDecompressSync, body, { maxOutputLength: 100 }).toString()).toBe('ab');
    expect((await decode([body])).toString()).toBe('ab');
  });

  test('count together against the limit', () => {
    const body = encode(['12345', '67890']);
    expect(decodeFramesSync(zstdDecompressSync, body, { maxOutputLength: 10 })).toHaveLength(10);
    expect(() => decodeFramesSync(zstdDecompressSync, body, { maxOutputLength: 9 })).toThrow();
  });

  test('are refused beyond a thousand in one call, and decoded as a stream', async () => {
    const body = encode(new Array<string>(1_001).fill('a'));
    expect(() => decodeFramesSync(zstdDecompressSync, body, { maxOutputLength: 2_000 })).toThrow('1000 zstd');
    expect(await decode([body])).toHaveLength(1_001);
  });

  test('are damaged where something else follows', async () => {
    await expect(decode([encode(['a']), Buffer.from('{"no": "frame"}')])).rejects.toThrow();
  });

  test('are decoded no further than they are read', async () => {
    const decoder = decodeFrames(createZstdDecompress?.() as Transform & zlib.Zlib);
    decoder.end(encode(new Array<string>(20).fill(' '.repeat(1_000_000))));
    let size = 0;
    for await (const chunk of decoder) {
      expect(chunk.length).toBeLessThan(200_000);
      size += chunk.length;
    }
    expect(size).toBe(20_000_000);
  });
});
