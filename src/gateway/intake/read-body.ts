import type { IncomingMessage, ServerResponse } from 'node:http';
import { GwError } from '../../errors.ts';
import { copyBytes } from '../../json/copy-bytes.ts';
import { withPlainLetters } from '../../json/plain-letters.ts';
import type { Gateway } from '../context/gateway.ts';
import type { BodyMemory } from '../state/body-memory.ts';
import { ClientGone } from './client-gone.ts';
import { canDecompress, decompress } from './decompress.ts';

export interface BodyLimits {
  maxBytes: number;
  /** No setting raises `maxBytes`. */
  fixed?: boolean;
  /** The memory that all bodies share. */
  memory?: BodyMemory;
}

/**
 * Reads the whole body and decodes it; JSON comes with plain letters. Throws GwError 415 for a wrong content type, 413
 * above `maxBytes`, and 503 when the memory for bodies is full. The rest of a refused body is read and dropped: closing the connection while the
 * client still sends would reset it, and the client would never see the error.
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  type: 'json' | 'any' = 'json',
  response?: ServerResponse,
): Promise<Buffer> {
  if (type === 'json') checkType(request);
  const received = readBytes(request, limits, response);
  const encoding = request.headers['content-encoding'];
  const body =
    encoding === undefined ? received : received.then((bytes) => decode(bytes, encoding, limits, response));
  return /json/i.test(request.headers['content-type'] ?? '') ? body.then(withPlainLetters) : body;
}

async function decode(
  bytes: Buffer,
  encoding: string,
  limits: BodyLimits,
  response?: ServerResponse,
): Promise<Buffer> {
  const { maxBytes, memory } = limits;
  const body = await decompress(bytes, encoding, { maxBytes, tooLarge: () => tooLarge(limits) });
  if (body === bytes) return body;
  // A closed response emits no `close` any more, so the memory would never be released.
  if (response?.destroyed) throw new ClientGone();
  if (memory && !memory.acquire(body.length, bytes.length)) throw memoryFull();
  response?.once('close', () => memory?.release(body.length));
  return body;
}

function readBytes(request: IncomingMessage, limits: BodyLimits, response?: ServerResponse): Promise<Buffer> {
  const { maxBytes, memory } = limits;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBytes) return Promise.reject(tooLarge(limits));
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let size = 0;
    let acquired = 0;
    // The body stays in memory until the request ends.
    response?.on('close', () => memory?.release(acquired));
    const refuse = (error: GwError) => {
      request.removeAllListeners('data');
      request.resume();
      first = undefined;
      chunks = undefined;
      reject(error);
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) return refuse(tooLarge(limits));
      if (memory && !memory.acquire(chunk.length, acquired)) return refuse(memoryFull());
      acquired += chunk.length;
      if (!first) first = chunk;
      else if (chunks) chunks.push(chunk);
      else chunks = [first, chunk];
    });
    request.on('end', () => resolve(chunks ? joined(chunks, size) : (first ?? Buffer.alloc(0))));
    // Not `complete`: a connection that is destroyed with the whole body unread emits no `end`.
    const onClose = () => {
      if (!request.readableEnded) reject(new ClientGone());
    };
    // It emits `close` no more if it was destroyed before this.
    if (request.destroyed) onClose();
    request.on('error', onClose);
    request.on('close', onClose);
  });
}

/** The chunks as one buffer of shared memory, which the optimizer's thread can read without a copy. */
function joined(chunks: readonly Buffer[], size: number): Buffer {
  const bytes = Buffer.from(new SharedArrayBuffer(size));
  let end = 0;
  for (const chunk of chunks) end += copyBytes(chunk, bytes, end);
  return bytes;
}

function checkType(request: IncomingMessage): void {
  const type = request.headers['content-type'];
  if (type !== undefined && !/^application\/([a-z0-9.+-]+\+)?json\b/i.test(type)) {
    throw new GwError(
      `the content type is ${type}, but this endpoint accepts only JSON: send the header "content-type: application/json"`,
      {
        status: 415,
        type: 'invalid_request_error',
        code: 'unsupported_media_type',
      },
    );
  }
  if (type === undefined) {
    throw new GwError('the content-type header is missing: send "content-type: application/json"', {
      status: 415,
      type: 'invalid_request_error',
      code: 'unsupported_media_type',
    });
  }
  if (/;\s*charset\s*=(?!\s*"?utf-?8\b)/i.test(type)) {
    throw new GwError(`the content type is ${type}, but gw reads only UTF-8: send the body as UTF-8`, {
      status: 415,
      type: 'invalid_request_error',
      code: 'unsupported_media_type',
    });
  }
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity' && !canDecompress(encoding)) {
    throw new GwError(
      `the content encoding ${encoding} is not supported: send gzip, deflate, br, zstd or no encoding`,
      {
        status: 415,
        type: 'invalid_request_error',
        code: 'unsupported_content_encoding',
      },
    );
  }
}

function tooLarge({ maxBytes, fixed = false }: BodyLimits): GwError {
  const more = fixed ? '' : '. To allow more: gw config set limits.max_body_bytes BYTES';
  return new GwError(`the body is larger than ${maxBytes} bytes${more}`, {
    status: 413,
    type: 'invalid_request_error',
    code: 'request_too_large',
  });
}

/** 503: clients retry it on their own, and by then other requests have ended. */
function memoryFull(): GwError {
  return new GwError(
    "running requests fill gw's memory for request bodies. Try again when some have finished, or allow more: gw config set limits.max_memory_bytes BYTES",
    { status: 503, type: 'api_error', code: 'overloaded', headers: { 'retry-after': '2' } },
  );
}

/** The configured limits. */
export function bodyLimits(gateway: Pick<Gateway, 'settings' | 'bodies'>): BodyLimits {
  return { maxBytes: gateway.settings()['limits.max_body_bytes'], memory: gateway.bodies };
}
