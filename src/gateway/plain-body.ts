import { gunzipSync } from 'node:zlib';

/** A body unencoded, which gw asks for but not every server listens to; undefined where that can't be had. */
export function plainBody(body: Buffer, encoding = 'identity', maxBytes: number): Buffer | undefined {
  if (encoding === 'identity') return body;
  if (encoding !== 'gzip') return undefined;
  try {
    return gunzipSync(body, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}
