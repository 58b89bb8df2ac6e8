import type { ServerResponse } from 'node:http';

export interface Delivery {
  response: ServerResponse;
  /** Waits for the model's delay per word. Throws if the client has disconnected. */
  pause: () => Promise<void>;
  /** Drop the connection in the middle of the body. */
  cuts: boolean;
}

/** Sends a body as JSON. */
export async function deliverJson(body: object, { response, cuts }: Omit<Delivery, 'pause'>): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  await write(response, cuts ? bytes.subarray(0, bytes.length / 2) : bytes);
  if (cuts) response.destroy();
  else response.end();
}

/** Sends chunks as server-sent events, each after its pause and after the previous chunk has been sent. */
export async function deliverStream(
  chunks: Iterable<object>,
  { response, pause, cuts }: Delivery,
): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  response.flushHeaders();
  for (const chunk of cuts ? firstHalf(chunks) : chunks) {
    await pause();
    await write(response, `data: ${JSON.stringify(chunk)}\n\n`);
  }
  if (cuts) response.destroy();
  else response.end('data: [DONE]\n\n');
}

function firstHalf(chunks: Iterable<object>): object[] {
  const all = [...chunks];
  return all.slice(0, Math.ceil(all.length / 2));
}

/** Resolves when the kernel has accepted the bytes, so that a slow reader slows the answer down. */
function write(response: ServerResponse, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
