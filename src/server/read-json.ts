import type { IncomingMessage } from 'node:http';
import { badRequest } from '../errors.ts';
import { readBody } from '../gateway/intake/read-body.ts';

const MAX_BYTES = 64 * 1024;

/** The JSON body of a request to gw itself. Throws GwError 400, 413, 415. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(request, { maxBytes: MAX_BYTES, fixed: true });
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw badRequest('the request body is not valid JSON', undefined, 'invalid_json');
  }
}
