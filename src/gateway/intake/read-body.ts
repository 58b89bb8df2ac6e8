import type { IncomingMessage, ServerResponse } from 'node:http';
import { GwError } from '../../errors.ts';
import type { Gateway } from '../context/gateway.ts';
import type { BodyMemory } from '../state/body-memory.ts';
import { ClientGone } from './client-gone.ts';
import { canDecompress, decompress } from './decompress.ts';

export interface BodyLimits {
  /** Of this body. */
  maxBytes: number;
  /** No setting allows more. */
  fixed?: boolean;
  /** That all bodies share. */
  memory?: BodyMemory;
}

/**
 * The whole body, decoded. 415 unless it is JSON (or may be anything), 413 above `maxBytes`, 503 where the memory
 * for bodies is full. The rest of a body that is refused is read and dropped: a connection closed under a client that
 * still sends is reset, and the client never sees why.
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  type: 'json' | 'any' = 'json',
  response?: ServerResponse,
): Promise<Buffer> {
  if (type === 'json') checkType(request);
  const body = readBytes(request, limits, response);
  const encoding = request.headers['content-encoding'];
  return encoding === undefined ? body : body.then((bytes) => decoded(bytes, encoding, limits, response));
}

async function decoded(
  bytes: Buffer,
  encoding: string,
  limits: BodyLimits,
  response?: ServerResponse,
): Promise<Buffer> {
  const { maxBytes, memory } = limits;
  const body = await decompress(bytes, encoding, { maxBytes, tooLarge: () => tooLarge(limits) });
  if (body === bytes) return body;
  // Nobody would give back what is taken for a response that has closed.
  if (response?.destroyed) throw new ClientGone();
  if (memory && !memory.take(body.length, bytes.length)) throw memoryFull();
  response?.once('close', () => memory?.give(body.length));
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
    let taken = 0;
    // A body stays as long as its request runs.
    response?.on('close', () => memory?.give(taken));
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
      if (memory && !memory.take(chunk.length, taken)) return refuse(memoryFull());
      taken += chunk.length;
      if (!first) first = chunk;
      else if (chunks) chunks.push(chunk);
      else chunks = [first, chunk];
    });
    request.on('end', () => resolve(chunks ? Buffer.concat(chunks, size) : (first ?? Buffer.alloc(0))));
    const gone = () => {
      if (!request.complete) reject(new ClientGone());
    };
    request.on('error', gone);
    request.on('close', gone);
  });
}

function checkType(request: IncomingMessage): void {
  const type = request.headers['content-type'];
  if (type !== undefined && !/^application\/([a-z0-9.+-]+\+)?json\b/i.test(type)) {
    throw new GwError(
      `the body is ${type}, but only JSON is taken here: send the header "content-type: application/json"`,
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
    throw new GwError(`the body is ${type}: send it as UTF-8`, {
      status: 415,
      type: 'invalid_request_error',
      code: 'unsupported_media_type',
    });
  }
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity' && !canDecompress(encoding)) {
    throw new GwError(`the body is encoded as ${encoding}: send it as gzip, deflate, br or unencoded`, {
      status: 415,
      type: 'invalid_request_error',
      code: 'unsupported_content_encoding',
    });
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

/** Clients try a 503 again of themselves, and by then other requests have ended. */
function memoryFull(): GwError {
  return new GwError(
    'the requests that run fill the memory that gw has for them. Try again when some are done, or allow more: gw config set limits.max_memory_bytes BYTES',
    { status: 503, type: 'api_error', code: 'overloaded', headers: { 'retry-after': '2' } },
  );
}

/** Of this body, and of all that are in memory. */
export function bodyLimits(gateway: Gateway): BodyLimits {
  return { maxBytes: gateway.settings()['limits.max_body_bytes'], memory: gateway.bodies };
}
