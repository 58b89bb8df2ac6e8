/** A response as the commands need it. */
interface HttpResponse {
  status: number;
  /** The parsed body; undefined if it is not JSON. */
  body: unknown;
}

interface HttpOptions {
  headers?: Record<string, string>;
  timeoutMs?: number;
  /** For gw on this machine, whose certificate is for the name by which others call it. */
  anyCertificate?: boolean;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** GETs a URL. Rejects if it cannot be reached in time. Uses node:http: loading fetch takes longer than the request. */
export function httpGet(url: string, options: HttpOptions = {}): Promise<HttpResponse> {
  return send('GET', url, options);
}

/** POSTs a body to a URL. Rejects if it cannot be reached in time. */
export function httpPost(url: string, body: Buffer, options: HttpOptions = {}): Promise<HttpResponse> {
  return send('POST', url, options, body);
}

async function send(
  method: string,
  url: string,
  { headers = {}, timeoutMs = 2_000, anyCertificate = false }: HttpOptions,
  body?: Buffer,
): Promise<HttpResponse> {
  const { request: open } = url.startsWith('https:') ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const request = open(
      url,
      { method, headers, agent: false, signal, rejectUnauthorized: !anyCertificate },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_BODY_BYTES) response.destroy(new Error('the response is too large'));
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: parseJson(Buffer.concat(chunks)) }),
        );
      },
    );
    request.on('error', (error) =>
      reject(signal.aborted ? new Error(`no response within ${timeoutMs / 1000} s`) : error),
    );
    request.end(body);
  });
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
