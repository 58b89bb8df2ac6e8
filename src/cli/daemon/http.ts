import type { IncomingHttpHeaders } from 'node:http';
import { jsonOf } from '../../json/object.ts';

interface HttpResponse {
  status: number;
  /** The parsed body; undefined if it is not JSON. */
  body: unknown;
  text: string;
  headers: IncomingHttpHeaders;
}

interface HttpOptions {
  headers?: Record<string, string>;
  timeoutMs: number;
  /** Sent by POST. */
  body?: Buffer;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * GETs a URL of gw on this machine, or POSTs a body to it. Any certificate will do, as it is for the name by which
 * others call this machine. Rejects if the URL can't be reached in time. Uses node:http: loading fetch takes longer than
 * the request.
 */
export async function askLocal(
  url: string,
  { headers = {}, timeoutMs, body }: HttpOptions,
): Promise<HttpResponse> {
  const { request: open } = url.startsWith('https:') ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const method = body ? 'POST' : 'GET';
    const request = open(
      url,
      { method, headers, agent: false, signal, rejectUnauthorized: false },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_BODY_BYTES) response.destroy(new Error('the response is too large'));
        });
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0, headers: received } = response;
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status, body: jsonOf(text), text, headers: received });
        });
      },
    );
    request.on('error', (error) =>
      reject(signal.aborted ? new Error(`no response within ${timeoutMs / 1000} s`) : error),
    );
    request.end(body);
  });
}
