import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { BODIES, PLAIN_BODIES } from './bodies.ts';
import type { Dice } from './dice.ts';
import { cutAnywhere, mutateBytes, mutateJson, writeJson } from './mutate.ts';
import {
  AGENT_HEADERS,
  AUTHORIZATIONS,
  LENGTHS,
  METHODS,
  SERVICE_VALUES,
  SERVICES,
  SIZES,
  TARGETS,
  TYPES,
  VERSIONS,
} from './odd-values.ts';

/** What a client of the campaign sends on one connection. */
export interface Sending {
  pieces: Buffer[];
  /** How many requests the bytes hold or held before they were mutated. */
  requests: number;
  /** Whether the client breaks the connection off after its last piece, instead of waiting for the end. */
  hangsUp: boolean;
}

interface Parts {
  method: string;
  target: string;
  version: string;
  headers: [name: string, value: string][];
  body: Buffer;
  /** How the body is framed; `length` unless it was mutated. */
  framed: Buffer;
}

const MEBIBYTE = 1024 * 1024;
/** Bodies of 64 MiB in a few kilobytes: above the limits that the campaign sets. */
const BOMBS: Readonly<Record<string, Buffer>> = {
  gzip: gzipSync(Buffer.alloc(64 * MEBIBYTE)),
  br: brotliCompressSync(Buffer.alloc(64 * MEBIBYTE)),
};
/** A zstd frame of a window of 2 GiB, and one that repeats a byte 128 KiB at a time. */
const ZSTD_WINDOW = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00]);
const ZSTD_RUNS = Buffer.concat([
  Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]),
  ...Array(500).fill(Buffer.from([0x02, 0x00, 0x10, 0x20])),
]);

/** The bytes of one connection: up to three valid requests, and one that is broken. */
export function makeSending(dice: Dice, key: string): Sending {
  const before = Array.from({ length: dice.chance(0.3) ? 1 + dice.below(3) : 0 }, () =>
    bytesOf(plainParts(dice, key)),
  );
  const last = bytesOf(brokenParts(dice, key));
  let bytes = Buffer.concat([...before, dice.chance(0.12) ? mutateBytes(last, dice) : last]);
  const hangsUp = dice.chance(0.08);
  if (hangsUp || dice.chance(0.04)) bytes = bytes.subarray(0, dice.below(bytes.length + 1));
  const pieces = dice.chance(0.25) ? cutAnywhere(bytes, dice) : [bytes];
  return { pieces, requests: before.length + 1, hangsUp };
}

function plainParts(dice: Dice, key: string): Parts {
  const target = dice.pick(Object.keys(PLAIN_BODIES));
  const streams = dice.chance(0.4) && target !== '/v1/embeddings' ? { stream: true } : {};
  return partsOf(target, JSON.stringify({ ...PLAIN_BODIES[target], ...streams }), key);
}

function partsOf(target: string, body: string | Buffer, key: string): Parts {
  const bytes = Buffer.from(body);
  const headers: Parts['headers'] = [
    ['host', '127.0.0.1'],
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
    ['content-length', String(bytes.length)],
  ];
  return { method: 'POST', target, version: 'HTTP/1.1', headers, body: bytes, framed: bytes };
}

function bytesOf({ method, target, version, headers, framed }: Parts): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${method} ${target} ${version}\r\n${lines}\r\n`, 'latin1'), framed]);
}

function brokenParts(dice: Dice, key: string): Parts {
  const parts = dice.chance(0.75) ? brokenBody(dice, key) : plainParts(dice, key);
  const isPlain = dice.chance(0.5);
  if (!isPlain) for (let left = 1 + dice.below(2); left > 0; left--) dice.pick(BREAKS)(parts, dice);
  // The end of the answer is then the end of the connection.
  if (dice.chance(0.9)) parts.headers.push(['connection', 'close']);
  return parts;
}

function brokenBody(dice: Dice, key: string): Parts {
  const target = dice.pick(Object.keys(BODIES));
  const plain = PLAIN_BODIES[target];
  const from = plain && dice.chance(0.4) ? { ...plain, stream: dice.chance(0.5) } : (BODIES[target] ?? {});
  const text = writeJson(mutateJson(from, dice), dice);
  const way = dice.below(20);
  if (way === 0) return partsOf(target, mutateBytes(Buffer.from(text), dice), key);
  if (way === 1) return partsOf(target, text.slice(0, dice.below(text.length)), key);
  if (way === 2) return partsOf(target, text + dice.pick(['\0', text, ']', ' ', '//x', '\n{}']), key);
  if (way === 3) return partsOf(target, `${dice.pick(['\ufeff', '\n', '\0', ")]}'\n"])}${text}`, key);
  if (way === 4) return partsOf(target, Buffer.from(text, dice.pick(['utf16le', 'latin1'])), key);
  return partsOf(target, text, key);
}

type Break = (parts: Parts, dice: Dice) => void;

function set(parts: Parts, name: string, value: string): void {
  parts.headers = [...parts.headers.filter(([other]) => other !== name), [name, value]];
}

function add(parts: Parts, name: string, value: string): void {
  parts.headers.push([name, value]);
}

/** What may be wrong with a request outside its JSON. */
const BREAKS: readonly Break[] = [
  (parts, dice) => set(parts, 'content-length', dice.pick(LENGTHS)),
  (parts, dice) =>
    set(parts, 'content-length', String(Math.max(0, parts.framed.length + dice.below(40) - 20))),
  (parts, dice) => add(parts, 'content-length', dice.pick([String(parts.framed.length), '0', '7'])),
  (parts) => set(parts, 'content-length', String(40 * MEBIBYTE)),
  (parts) => chunk(parts, cutInTwo(parts.framed), '0\r\n\r\n'),
  (parts, dice) =>
    chunk(
      parts,
      cutInTwo(parts.framed),
      dice.pick([
        '',
        '0',
        '0\r\n',
        '0\r\nx: y\r\n\r\n',
        '0;x\r\n\r\n',
        '00\r\n\r\n',
        '0\r\ncontent-length: 5\r\n\r\n',
      ]),
    ),
  (parts, dice) => {
    chunk(parts, [], '');
    parts.framed = Buffer.concat([
      Buffer.from(`${dice.pick(SIZES)}\r\n`),
      parts.framed,
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
  },
  (parts, dice) => {
    chunk(parts, cutInTwo(parts.framed), '0\r\n\r\n');
    set(
      parts,
      'transfer-encoding',
      dice.pick([
        'gzip, chunked',
        'chunked, gzip',
        'identity',
        'Chunked',
        'chunked, chunked',
        ' chunked',
        'xchunked',
        '',
      ]),
    );
  },
  (parts) => {
    const { length } = parts.framed;
    chunk(parts, cutInTwo(parts.framed), '0\r\n\r\n');
    add(parts, 'content-length', String(length));
  },
  (parts, dice) => encode(parts, dice),
  (parts, dice) => encode(parts, dice),
  (parts, dice) => {
    parts.method = dice.pick(METHODS);
  },
  (parts, dice) => {
    parts.target = dice.pick(TARGETS);
  },
  (parts, dice) => {
    parts.target = dice.pick(TARGETS);
    parts.method = dice.pick(METHODS);
  },
  (parts, dice) => {
    parts.version = dice.pick(VERSIONS);
  },
  (parts, dice) => set(parts, 'authorization', dice.pick(AUTHORIZATIONS)),
  (parts, dice) =>
    add(parts, dice.pick(['authorization', 'x-api-key', 'api-key']), dice.pick(AUTHORIZATIONS)),
  (parts, dice) => set(parts, 'content-type', dice.pick(TYPES)),
  (parts, dice) =>
    set(
      parts,
      'host',
      dice.pick(['', 'evil.example', '127.0.0.1:99999', '[::1', 'a b', '127.0.0.1, x', '\xff']),
    ),
  (parts, dice) => add(parts, 'host', dice.pick(['127.0.0.1', 'evil.example'])),
  (parts, dice) => add(parts, 'origin', dice.pick(['null', 'http://evil.example', 'http://127.0.0.1', 'x'])),
  (parts, dice) => add(parts, `x-service-${dice.pick(SERVICES)}`, dice.pick(SERVICE_VALUES)),
  (parts, dice) => add(parts, dice.pick(AGENT_HEADERS), dice.pick(SERVICE_VALUES)),
  (parts, dice) =>
    add(
      parts,
      dice.pick(['x'.repeat(5_000), 'a b', 'a\0', '', ':', 'é', ' a', 'a ']),
      dice.pick(['x', '', '\0', 'a\r\n b', 'a\nb: c', 'a\rb']),
    ),
  (parts) => add(parts, 'x-huge', 'x'.repeat(40_000)),
  (parts) => {
    for (let i = 0; i < 2_100; i++) add(parts, `x-${i}`, 'y');
  },
  (parts, dice) => add(parts, 'expect', dice.pick(['100-continue', '100-Continue', 'x', ''])),
  (parts, dice) => {
    add(
      parts,
      'connection',
      dice.pick(['Upgrade', 'keep-alive, content-length', 'close, authorization', 'x']),
    );
    add(parts, 'upgrade', dice.pick(['websocket', 'h2c', 'TLS/1.0', '']));
  },
  (parts) => {
    parts.framed = Buffer.from('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'latin1');
    parts.method = '\x16\x03\x01';
  },
  (parts, dice) => {
    const part = (name: string, value: string) =>
      `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const body = Buffer.from(
      `${part('model', 'mock/test-model')}${part('file', 'abc')}${part('n', '9e9')}--x--\r\n`,
    );
    const sent = dice.chance(0.6) ? mutateBytes(body, dice) : body;
    Object.assign(parts, {
      ...partsOf(dice.pick(['/v1/files', '/v1/audio/transcriptions', '/v1/images/edits']), sent, ''),
      headers: parts.headers,
    });
    set(parts, 'content-type', 'multipart/form-data; boundary=x');
    set(parts, 'content-length', String(sent.length));
  },
];

function cutInTwo(bytes: Buffer): Buffer[] {
  const middle = bytes.length >> 1;
  return [bytes.subarray(0, middle), bytes.subarray(middle)].filter(({ length }) => length > 0);
}

function chunk(parts: Parts, pieces: Buffer[], end: string): void {
  parts.headers = parts.headers.filter(([name]) => name !== 'content-length');
  add(parts, 'transfer-encoding', 'chunked');
  if (pieces.length === 0) return;
  const framed = pieces.flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ]);
  parts.framed = Buffer.concat([...framed, Buffer.from(end)]);
}

/** Encodes the body, and may cut it, mutate it, encode it twice or put a bomb in its place. */
function encode(parts: Parts, dice: Dice): void {
  const name = dice.pick([
    'gzip',
    'br',
    'deflate',
    'zstd',
    'x-gzip',
    'GZIP',
    'identity',
    'compress',
    'gzip, br',
    'gzip, gzip',
    'x',
    '',
  ]);
  const coders: Record<string, (bytes: Buffer) => Buffer> = {
    br: brotliCompressSync,
    deflate: deflateSync,
    zstd: storedZstd,
  };
  const coder = coders[name] ?? gzipSync;
  let bytes = dice.chance(0.03) ? (BOMBS[name] ?? dice.pick([ZSTD_WINDOW, ZSTD_RUNS])) : coder(parts.body);
  if (dice.chance(0.25)) bytes = bytes.subarray(0, dice.below(bytes.length));
  if (dice.chance(0.25)) bytes = mutateBytes(bytes, dice);
  if (dice.chance(0.1)) bytes = Buffer.concat([bytes, bytes]);
  set(parts, 'content-encoding', name);
  set(parts, 'content-length', String(bytes.length));
  parts.framed = bytes;
}

/** A zstd frame of one stored block. */
function storedZstd(body: Buffer): Buffer {
  const header = (body.length << 3) | 1;
  const head = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, header & 255, (header >> 8) & 255, (header >> 16) & 255];
  return Buffer.concat([Buffer.from(head), body]);
}
