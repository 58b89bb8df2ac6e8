import { messageOf } from '../../errors.ts';
import type { Network } from '../../network/network.ts';
import { MAX_FILE_BYTES, PriceFileError } from '../../pricing/published/price-file.ts';

const TIMEOUT_MS = 30_000;

/** Downloads a price file, of a bounded size and in a bounded time. Follows no redirects. Throws PriceFileError. */
export async function downloadPrices(url: string, network: Network): Promise<Buffer> {
  const { request } = await import('undici');
  try {
    const { statusCode, body } = await request(url, {
      dispatcher: network.open(new URL(url)),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (statusCode !== 200) {
      await body.dump();
      throw new PriceFileError(`the server answered HTTP ${statusCode}`);
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_FILE_BYTES)
        throw new PriceFileError(`it is larger than ${MAX_FILE_BYTES / 1024 ** 2} MB`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw error instanceof PriceFileError ? error : new PriceFileError(messageOf(error), { cause: error });
  }
}
