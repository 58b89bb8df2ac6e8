/** An answer as the commands need it. */
export interface HttpAnswer {
  status: number;
  /** The parsed body; undefined if it is not JSON. */
  body: unknown;
}

export interface HttpOptions {
  headers?: Record<string, string>;
  timeoutMs?: number;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** GETs a URL. Rejects if it cannot be reached in time. node:http, because fetch takes longer to load than to ask. */
export async function httpGet(
  url: string,
  { headers = {}, timeoutMs = 2_000 }: HttpOptions = {},
): Promise<HttpAnswer> {
  const { get } = url.startsWith('https:') ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const request = get(url, { headers, agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > MAX_BODY_BYTES) response.destroy(new Error('the answer is too large'));
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks)) }),
      );
    });
    request.on('error', (error) =>
      reject(signal.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : error),
    );
  });
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
