import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GwError } from '../../errors.ts';

/** Throws 401 unless the bearer token is the secret. */
export function authenticate(request: IncomingMessage, secret: string): void {
  const expected = digest(`Bearer ${secret}`);
  if (timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) return;
  throw new GwError('The sandbox answers gw alone, by a secret that is new at each start.', {
    status: 401,
    type: 'authentication_error',
    code: 'invalid_api_key',
  });
}

// Digests have equal lengths, as timingSafeEqual requires.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Reads the request's body. A body that is too long is read to its end, so that the client gets the 413. */
export async function receiveBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length <= maxBytes) parts.push(part);
    else parts.length = 0;
  }
  if (length <= maxBytes) return Buffer.concat(parts);
  throw new GwError(`The body has ${length} bytes; the sandbox takes ${maxBytes}.`, {
    status: 413,
    type: 'invalid_request_error',
    code: 'request_too_large',
  });
}
