import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { audioSeconds } from '../../../src/gateway/pass-through/audio-length.ts';

const text = (value: string) => Buffer.from(value, 'latin1');
const u32 = (value: number) =>
  Buffer.from([value >>> 24, value >>> 16, value >>> 8, value].map((byte) => byte & 255));
const little = (value: number, bytes: number) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
};

function wav({ claimed }: { claimed?: number } = {}): Buffer {
  const [seconds, rate] = [3, 8_000];
  const format = [
    little(1, 2),
    little(1, 2),
    little(rate, 4),
    little(rate * 2, 4),
    little(2, 2),
    little(16, 2),
  ];
  return Buffer.concat([
    ...[text('RIFF'), little(36, 4), text('WAVEfmt '), little(16, 4), ...format],
    ...[text('data'), little(claimed ?? seconds * rate * 2, 4), Buffer.alloc(seconds * rate * 2)],
  ]);
}

/** MPEG 1, layer III, 128 kbit/s, 44.1 kHz: 417 bytes and 26 ms a frame. */
const mp3 = (frames: number) => {
  const frame = Buffer.alloc(417);
  u32(0xfffb9000).copy(frame);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
};

const id3 = Buffer.concat([text('ID3'), Buffer.from([4, 0, 0, 0, 0, 1, 0]), Buffer.alloc(128)]);

function flac(rate: number, samples: number): Buffer {
  const info = Buffer.alloc(34);
  info.writeUIntBE((rate << 4) | 2, 10, 3);
  info.writeUInt8(0x70 | Math.floor(samples / 2 ** 32), 13);
  info.writeUInt32BE(samples % 2 ** 32, 14);
  return Buffer.concat([text('fLaC'), Buffer.from([0x80, 0, 0, 34]), info, Buffer.alloc(100)]);
}

function oggPage(flags: number, granule: bigint, packet: Buffer): Buffer {
  const head = Buffer.alloc(28);
  head.write('OggS', 0, 'latin1');
  head[5] = flags;
  head.writeBigInt64LE(granule, 6);
  head[26] = 1;
  head[27] = packet.length;
  return Buffer.concat([head, packet]);
}

const opus = (samples: number) =>
  Buffer.concat([
    oggPage(2, 0n, text('OpusHead')),
    oggPage(0, -1n, Buffer.alloc(50)),
    oggPage(4, BigInt(samples), Buffer.alloc(50)),
  ]);

const box = (name: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(8 + body.length), text(name), body]);
};
const mp4 = (scale: number, duration: number) =>
  Buffer.concat([
    box('ftyp', text('M4A ')),
    box('mdat', Buffer.alloc(99)),
    box('moov', box('mvhd', u32(0), u32(0), u32(0), u32(scale), u32(duration), Buffer.alloc(80))),
  ]);

/** An element of WebM; `isOpen` leaves its end unsaid, as recorders do. */
function element(id: number[], content: Buffer, isOpen = false): Buffer {
  const size = isOpen ? [255] : [0x10 | (content.length >>> 24), ...u32(content.length).subarray(1)];
  return Buffer.concat([Buffer.from(id), Buffer.from(size), content]);
}

const double = (value: number) => {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleBE(value);
  return buffer;
};
const webmBlock = (at: number, { packets = 1 } = {}) =>
  element([0xa3], Buffer.from([0x81, at >> 8, at & 255, packets > 1 ? 2 : 0, packets - 1, 1, 2, 3]));
const webmCluster = (at: number, ...blocks: Buffer[]) =>
  element([0x1f, 0x43, 0xb6, 0x75], Buffer.concat([element([0xe7], u32(at)), ...blocks]), true);
const webm = (duration: number | undefined, ...clusters: Buffer[]) =>
  Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], Buffer.alloc(4)),
    element(
      [0x18, 0x53, 0x80, 0x67],
      Buffer.concat([
        element(
          [0x15, 0x49, 0xa9, 0x66],
          Buffer.concat([
            element([0x2a, 0xd7, 0xb1], u32(1_000_000)),
            ...(duration === undefined ? [] : [element([0x44, 0x89], double(duration))]),
          ]),
        ),
        element([0x16, 0x54, 0xae, 0x6b], Buffer.alloc(20)),
        ...clusters,
      ]),
      true,
    ),
  ]);

describe('the length of a recording', () => {
  test.each<[string, Buffer, number]>([
    ['WAV', wav(), 3],
    ['WAV whose header claims less than there is', wav({ claimed: 100 }), 3],
    ['MP3', mp3(100), (100 * 1_152) / 44_100],
    ['MP3 with a tag in front', Buffer.concat([id3, mp3(10)]), (10 * 1_152) / 44_100],
    ['FLAC', flac(44_100, 44_100 * 60), 60],
    ['FLAC of a day', flac(96_000, 96_000 * 86_400), 86_400],
    ['Opus in Ogg', opus(48_000 * 7), 7],
    ['two streams in Ogg', Buffer.concat([opus(48_000 * 7), opus(48_000 * 5)]), 12],
    ['M4A', mp4(1_000, 12_500), 12.5],
    ['WebM', webm(12_500, webmCluster(0, webmBlock(0)), webmCluster(12_000, webmBlock(480))), 12.5],
    ['WebM whose header claims less than there is', webm(100, webmCluster(12_000, webmBlock(480))), 12.6],
    ['WebM without a length in its header', webm(undefined, webmCluster(12_000, webmBlock(480))), 12.6],
    [
      'WebM of blocks with several packets',
      webm(undefined, webmCluster(12_000, webmBlock(480, { packets: 5 }))),
      13.08,
    ],
    ["WebM as Chromium's recorder writes it", readFileSync(new URL('recorded.webm', import.meta.url)), 2.038],
  ])('%s', (_, bytes, seconds) => {
    expect(audioSeconds(bytes)).toBeCloseTo(seconds, 6);
  });

  test.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['text', text('RIFF and nothing more')],
    ['WebM that ends in its header', Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 1, 2, 3, 4])],
    ['WebM without sound', webm(undefined)],
    ['two WebM files in one', Buffer.concat([webm(2_000), webm(2_000)])],
    ['sound behind the last frame that gw can read', Buffer.concat([mp3(3), Buffer.alloc(5_000, 1)])],
    ['FLAC of unknown length', flac(44_100, 0)],
    ['MP4 without a header', box('ftyp', text('M4A '))],
  ])('of %s is unknown', (_, bytes) => {
    expect(audioSeconds(bytes)).toBeUndefined();
  });

  test('of a broken file is unknown or positive, and nothing throws', () => {
    const sound = webm(undefined, webmCluster(9_000, webmBlock(9)));
    const samples = [wav(), mp3(5), flac(8_000, 9_000), opus(9_000), mp4(1_000, 9_000), sound];
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 12 }),
        fc.nat(),
        (sample, changes, length) => {
          const bytes = Buffer.from(sample.subarray(0, length % (sample.length + 1)));
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
          const seconds = audioSeconds(bytes);
          expect(seconds === undefined || (Number.isFinite(seconds) && seconds > 0)).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
