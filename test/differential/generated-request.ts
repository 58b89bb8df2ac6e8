import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { type Dice, diceOf } from '../fuzz/dice.ts';
import { chunkBytes } from '../support/http-message.ts';
import { multipartBody, type TypedBody, urlencodedBody } from './form-body.ts';
import { jsonBody } from './json-body.ts';
import { requestTarget } from './target.ts';

export type KeyKind = 'plain' | 'limited';

/** A request as bytes, made of a seed and its number. */
export interface GeneratedRequest {
  number: number;
  key: KeyKind;
  bytes: Buffer;
  /** It may break its connection, or hold a second request. */
  isOdd: boolean;
}

export interface Generation {
  seed: number;
  number: number;
  keys: Readonly<Record<KeyKind, string>>;
}

/** Endpoints with stages in gw, whose requests cost by their body. */
const STAGES = [
  'chat/completions',
  'completions',
  'embeddings',
  'responses',
  'responses/compact',
  'messages',
].map((each) => `/v1/${each}`);
// biome-ignore format: they fit a few lines
const OTHERS: readonly (readonly [string, string])[] = [
  ['POST', '/v1/messages/count_tokens'], ['POST', '/v1/moderations'], ['POST', '/v1/images/generations'],
  ['POST', '/v1/images/edits'], ['POST', '/v1/audio/speech'], ['POST', '/v1/audio/transcriptions'], ['POST', '/v1/files'],
  ['GET', '/v1/files'], ['GET', '/v1/files/file-1/content'], ['DELETE', '/v1/files/file-1'], ['POST', '/v1/batches'],
  ['POST', '/v1/batches/batch_1/cancel'], ['POST', '/v1/conversations'], ['POST', '/v1/conversations/conv_1/items'],
  ['GET', '/v1/responses/resp_1'], ['POST', '/v1/responses/resp_1/cancel'], ['POST', '/v1/videos'],
  ['POST', '/v1/messages/batches'], ['POST', '/v1/vector_stores/vs_1/search'],
];
const FORMS = ['/v1/images/edits', '/v1/audio/transcriptions', '/v1/files', '/v1/videos'];

/** Each number's request is the same whatever was generated before. `inner` is a whole request that a body may hide. */
export function generateRequest({ seed, number, keys }: Generation): GeneratedRequest {
  const dice = diceOf(seed, number);
  const key = dice.chance(0.3) ? 'limited' : 'plain';
  const isStage = dice.chance(0.6);
  const [usual, path] = isStage ? (['POST', dice.pick(STAGES)] as const) : dice.pick(OTHERS);
  const method = dice.chance(0.04) ? dice.pick(['GET', 'PUT', 'PATCH', 'DELETE', 'post', 'POS T']) : usual;
  const body = usual === 'POST' || dice.chance(0.05) ? bodyFor(dice, path) : undefined;
  const coded = body && encodedBody(dice, body);
  const headers = [
    ['authorization', `Bearer ${keys[key]}`],
    ['x-session-id', `case-${number}`],
    ...(isStage || path.startsWith('/v1/messages')
      ? []
      : [['x-service-provider', dice.pick(['mock', 'openai'])]]),
    ...(coded?.headers ?? []),
    ...(dice.chance(0.12) ? [dice.pick(ODD_HEADERS)] : []),
  ].map(([name = '', value = '']) =>
    name !== 'x-session-id' && dice.chance(0.03) ? oddLine(dice, name, value) : `${name}: ${value}`,
  );
  const target = requestTarget(dice, path);
  const framed = frame(dice, coded?.bytes, inner(number, keys[key]));
  const head = [`${method} ${target} HTTP/1.1`, 'host: localhost', ...headers, ...framed.headers];
  const isOdd = framed.isOdd || /[^!-~]|#/.test(`${method}${target}`);
  const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), framed.bytes]);
  return { number, key, bytes, isOdd: isOdd || headers.some((line) => !/^[\w-]+: \S/.test(line)) };
}

function bodyFor(dice: Dice, path: string): TypedBody {
  const isForm = FORMS.includes(path) ? dice.chance(0.85) : dice.chance(0.03);
  if (isForm) return dice.chance(0.85) ? multipartBody(dice) : urlencodedBody(dice);
  const bytes = jsonBody(dice, path);
  return { type: dice.chance(0.12) ? dice.pick(JSON_TYPES) : 'application/json', bytes };
}

const JSON_TYPES = [
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json; charset=utf-16',
  'application/json;charset="latin1"',
  'application/vnd.api+json',
  'text/json',
  'text/plain',
  'application/x-ndjson',
  'application/json, text/plain',
  'application/jsonx',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=b',
  'multipart/form-data; boundary=json',
  'x/x; json',
  '',
];

type Header = readonly [string, string];

/** A body with the headers that say how to read it: compressed now and then, or said to be. */
function encodedBody(dice: Dice, { type, bytes }: TypedBody): { bytes: Buffer; headers: Header[] } {
  const headers: Header[] = [['content-type', type]];
  if (dice.chance(0.02)) headers.push(['content-type', dice.pick(JSON_TYPES)]);
  if (dice.chance(0.01)) headers.shift();
  if (!dice.chance(0.1)) return { bytes, headers };
  const [name, encode] = dice.pick(ENCODINGS);
  return {
    bytes: encode(bytes),
    headers: [...headers, ...name.split('|').map((each): Header => ['content-encoding', each])],
  };
}

const same = (bytes: Buffer) => bytes;
const ENCODINGS: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ['gzip', gzipSync],
  ['GZip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['gzip', same],
  ['gzip', (bytes) => Buffer.concat([gzipSync(bytes), gzipSync(' ')])],
  ['gzip', (bytes) => Buffer.concat([gzipSync(bytes), Buffer.from('x')])],
  ['gzip, gzip', (bytes) => gzipSync(gzipSync(bytes))],
  ['gzip|br', (bytes) => brotliCompressSync(gzipSync(bytes))],
  ['gzip|identity', gzipSync],
  ['identity', same],
  ['', same],
  ['none', same],
  ['compress', same],
];

const ODD_HEADERS: readonly Header[] = [
  ['x-http-method-override', 'DELETE'],
  ['x-original-url', '/v1/chat/completions'],
  ['x-model', 'mock/dear'],
  ['X_Service_Provider', 'openai'],
  ['x-service-provider', 'claude'],
  ['connection', 'accept, content-type'],
  ['connection', 'content-length'],
  ['te', 'trailers'],
  ['expect', '100-continue'],
  ['upgrade', 'h2c'],
  ['range', 'bytes=0-1'],
  ['content-disposition', 'form-data; name="model"'],
  ['content-type_', 'text/plain'],
  ['anthropic-version', '2023-06-01'],
  ['accept', 'text/event-stream'],
];

function oddLine(dice: Dice, name: string, value: string): string {
  return dice.pick([
    `${name.toUpperCase()}: ${value}`,
    `${name}:${value}`,
    `${name}:\t ${value} \t`,
    `${name} : ${value}`,
    `${name}: \r\n ${value}`,
    `${name.replaceAll('-', '_')}: ${value}`,
    `${name}: ${value}\r\n${name}: ${value}`,
    `${name}: ${value}\0`,
    `\u00e9${name}: ${value}`,
  ]);
}

/** A request that is none unless somebody takes the end of a body for one. */
function inner(number: number, key: string): Buffer {
  const body = '{"model":"mock/dear","messages":[{"role":"user","content":"hi"}],"max_tokens":16}';
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\nx-session-id: inner-${number}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return Buffer.from(`${head}\r\n\r\n${body}`);
}

interface Framed {
  headers: string[];
  bytes: Buffer;
  isOdd: boolean;
}

/** The body with the headers that say where it ends. */
function frame(dice: Dice, body: Buffer | undefined, hidden: Buffer): Framed {
  if (!body) return { headers: [], bytes: Buffer.alloc(0), isOdd: false };
  const length = `content-length: ${body.length}`;
  if (dice.chance(0.05)) return { ...dice.pick(ODD_FRAMES)(body, length, hidden), isOdd: true };
  if (!dice.chance(0.2)) return { headers: [length], bytes: body, isOdd: false };
  return { headers: ['transfer-encoding: chunked'], bytes: chunked(dice, body), isOdd: false };
}

function chunked(dice: Dice, body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let from = 0; from < body.length; ) {
    const size = 1 + dice.below(dice.pick([8, 64, 1_024]));
    const bytes = chunkBytes(body.subarray(from, from + size));
    const extended = dice.chance(0.05)
      ? Buffer.from(bytes.toString('latin1').replace('\r\n', ';a=b\r\n'), 'latin1')
      : bytes;
    parts.push(extended);
    from += size;
  }
  return Buffer.concat([
    ...parts,
    Buffer.from(dice.chance(0.1) ? '0\r\nx-model: dear\r\n\r\n' : '0\r\n\r\n'),
  ]);
}

type OddFrame = (body: Buffer, length: string, hidden: Buffer) => { headers: string[]; bytes: Buffer };

const whole = (body: Buffer) => Buffer.concat([chunkBytes(body), Buffer.from('0\r\n\r\n')]);
const ODD_FRAMES: readonly OddFrame[] = [
  (body, length) => ({ headers: [length, length], bytes: body }),
  (body, length, hidden) => ({
    headers: [length, 'content-length: 0'],
    bytes: Buffer.concat([body, hidden]),
  }),
  (body, length, hidden) => ({
    headers: ['content-length: 0', length],
    bytes: Buffer.concat([body, hidden]),
  }),
  (body, length) => ({ headers: [length.replace(/(\d+)/, '$1, $1')], bytes: body }),
  (body, length) => ({ headers: [length.replace(/(\d+)/, '+$1')], bytes: body }),
  (body, length, hidden) => ({
    headers: [length, 'transfer-encoding: chunked'],
    bytes: Buffer.concat([whole(body), hidden]),
  }),
  (body, length, hidden) => ({
    headers: ['transfer-encoding: chunked', length],
    bytes: Buffer.concat([whole(body), hidden]),
  }),
  ...[
    'xchunked',
    'chunked, identity',
    'identity',
    'gzip, chunked',
    'chunked, chunked',
    ' chunked',
    'chunked\0',
    '"chunked"',
    'CHUNKED',
  ].map(
    (coding): OddFrame =>
      (body, _length, hidden) => ({
        headers: [`transfer-encoding: ${coding}`],
        bytes: Buffer.concat([whole(body), hidden]),
      }),
  ),
  (body) => ({ headers: ['transfer-encoding : chunked'], bytes: whole(body) }),
  (body) => ({ headers: ['transfer-encoding:\r\n chunked'], bytes: whole(body) }),
  (body, _length, hidden) => ({
    headers: ['transfer-encoding: chunked'],
    bytes: Buffer.concat([
      Buffer.from(`${body.length.toString(16)}\n`),
      body,
      Buffer.from('\n0\n\n'),
      hidden,
    ]),
  }),
  (body, _length, hidden) => ({
    headers: ['transfer-encoding: chunked'],
    bytes: Buffer.concat([
      Buffer.from(`0x${body.length.toString(16)}\r\n`),
      body,
      Buffer.from('\r\n0\r\n\r\n'),
      hidden,
    ]),
  }),
  (body, length, hidden) => ({ headers: [length], bytes: Buffer.concat([body, hidden]) }),
  (body) => ({ headers: [`content-length: ${body.length + 9}`], bytes: body }),
  (body) => ({ headers: [`content-length: ${Math.max(0, body.length - 1)}`], bytes: body }),
  (body) => ({ headers: [], bytes: body }),
];
