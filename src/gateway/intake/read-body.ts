import type { IncomingMessage, ServerResponse } from 'node:http';
import { GwError } from '../../errors.ts';
import { ClientGone } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { BodyMemory, BodyShare } from '../state/body-memory.ts';
import { canDecompress, decompress, joinChunks } from './decompress.ts';
import { plainLetters, type RecentBodies } from './scan-large.ts';

export interface BodyLimits {
  maxBytes: number;
  /** No setting raises `maxBytes`. */
  fixed?: boolean;
  /** The memory that all bodies share. */
  memory?: BodyMemory;
  /** How long a body waits for room in it. */
  maxWaitMs?: number;
  recent?: RecentBodies;
}

/**
 * Reads the whole body and decodes it; JSON comes with plain letters. A body for which there is no memory waits for its
 * turn, with its client's connection. Throws GwError 415 for a wrong content type, 413 above `maxBytes`, and 503 when the
 * memory for bodies stays full. The rest of a refused body is read and dropped: closing the connection while the client
 * still sends would reset it, and the client would never see the error.
 */
export async function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  type: 'json' | 'any' = 'json',
  response?: ServerResponse,
): Promise<Buffer> {
  const isJson = checkType(request, type);
  const share = limits.memory?.open();
  // The body stays in memory until the request ends.
  if (share) response?.once('close', () => share.release());
  const received = await readBytes(request, limits, share);
  const encoding = request.headers['content-encoding'];
  const body = encoding === undefined ? received : await decode(received, encoding, limits, share);
  if (response?.destroyed) {
    // A closed response may have emitted `close` before the last bytes were taken.
    share?.release();
    throw new ClientGone();
  }
  return isJson ? plainLetters(body, limits.recent) : body;
}

function decode(bytes: Buffer, encoding: string, limits: BodyLimits, share?: BodyShare): Promise<Buffer> {
  const { maxBytes, maxWaitMs = 0 } = limits;
  return decompress(bytes, encoding, {
    maxBytes,
    tooLarge: () => tooLarge(limits),
    take: (size) => {
      if (!share || share.take(size)) return undefined;
      return share.takeInTurn(size, maxWaitMs).then((isTaken) => {
        if (!isTaken) throw memoryFull();
      });
    },
  });
}

function readBytes(request: IncomingMessage, limits: BodyLimits, share?: BodyShare): Promise<Buffer> {
  const { maxBytes, maxWaitMs = 0 } = limits;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBytes) return Promise.reject(tooLarge(limits));
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: GwError) => {
      request.removeAllListeners('data');
      request.resume();
      chunks = [];
      share?.release();
      reject(error);
    };
    /** Goes on once there is room. */
    const take = (bytes: number, goOn: () => void) => {
      if (!share || share.take(bytes)) return goOn();
      request.pause();
      void share.takeInTurn(bytes, maxWaitMs).then((isTaken) => (isTaken ? goOn() : refuse(memoryFull())));
    };
    const read = () => {
      request.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBytes) return refuse(tooLarge(limits));
        chunks.push(chunk);
        if (declared === 0) take(chunk.length, () => request.resume());
      });
      request.on('end', () => {
        resolve(joinChunks(chunks, size));
        // The listeners live as long as the request.
        chunks = [];
      });
      request.resume();
    };
    // Not `complete`: a connection that is destroyed with the whole body unread emits no `end`.
    const onClose = () => {
      if (!request.readableEnded) reject(new ClientGone());
    };
    // It emits `close` no more if it was destroyed before this.
    if (request.destroyed) onClose();
    request.on('error', onClose);
    request.on('close', onClose);
    // Bodies that are all half read would fill the memory, and none of them could be served.
    take(declared, read);
  });
}

/** Returns whether the body is JSON. Throws GwError 415, for a type other than JSON only if `wanted` is JSON. */
function checkType(request: IncomingMessage, wanted: 'json' | 'any'): boolean {
  if (wanted === 'json') checkJson(request);
  const type = request.headers['content-type'] ?? '';
  if (type === JSON_TYPE) return true;
  if (!/json/i.test(type)) return false;
  checkCharset(type);
  return true;
}

const JSON_TYPE = 'application/json';

function checkJson(request: IncomingMessage): void {
  const type = request.headers['content-type'];
  if (type === undefined)
    throw unsupported('the content-type header is missing: send "content-type: application/json"');
  if (type !== JSON_TYPE && !/^application\/([a-z0-9.+-]+\+)?json\b/i.test(type)) {
    throw unsupported(
      `the content type is ${type}, but this endpoint accepts only JSON: send the header "content-type: application/json"`,
    );
  }
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity' && !canDecompress(encoding)) {
    throw unsupported(
      `the content encoding ${encoding} is not supported: send gzip, deflate, br, zstd or no encoding`,
      UNSUPPORTED_ENCODING,
    );
  }
}

/** JSON in another encoding would be something else to gw than to the provider. */
function checkCharset(type: string): void {
  if (!/;\s*charset\s*=(?!\s*"?utf-?8\b)/i.test(type)) return;
  throw unsupported(`the content type is ${type}, but gw reads only UTF-8: send the body as UTF-8`);
}

const UNSUPPORTED_ENCODING = { code: 'unsupported_content_encoding' };

function unsupported(message: string, { code } = { code: 'unsupported_media_type' }): GwError {
  return new GwError(message, { status: 415, type: 'invalid_request_error', code });
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
export function bodyLimits({ settings, bodies }: Pick<Gateway, 'settings' | 'bodies'>): BodyLimits {
  const all = settings();
  return {
    maxBytes: all['limits.max_body_bytes'],
    memory: bodies,
    maxWaitMs: all['admission.max_wait_ms'],
  };
}
