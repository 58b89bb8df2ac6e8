import { hash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isObject } from '../../json/object.ts';
import { writing } from '../../write-fault.ts';
import { PACKAGED_PRICES, type PublishedPrices } from '../library.ts';

/** The origin of stored prices. */
export interface PricesOrigin {
  url: string;
  /** SHA-256 of the downloaded file. */
  sha256: string;
  /** UTC milliseconds. */
  fetchedAt: number;
}

export interface StoredPrices extends PricesOrigin {
  prices: PublishedPrices;
  /** SHA-256 of the stored data. */
  checksum: string;
}

/**
 * Reads the file that `gw prices update` wrote: a line with the origin and the checksum of the rest. `stored` is
 * `previous` if the file has not changed, and undefined if there is no file, if it is older than the packaged prices, or
 * if it is damaged (`problem`). The packaged prices apply then.
 */
export function readStoredPrices(
  file: string,
  previous?: StoredPrices,
): { stored?: StoredPrices; problem?: string } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? {} : { problem: `${file} can't be read (${code}); the packaged prices apply` };
  }
  const end = text.indexOf('\n');
  const stored = parseStored(text.slice(0, end), text.slice(end + 1), previous);
  if (stored) return stored.fetchedAt > PACKAGED_PRICES.releasedAt ? { stored } : {};
  return { problem: `${file} is damaged; the packaged prices apply. To replace it: gw prices update` };
}

function parseStored(
  head: string,
  body: string,
  previous: StoredPrices | undefined,
): StoredPrices | undefined {
  try {
    const origin: unknown = JSON.parse(head);
    if (!isObject(origin) || origin.checksum !== hash('sha256', body)) return undefined;
    if (previous?.checksum === origin.checksum && previous.fetchedAt === origin.fetched_at) return previous;
    return {
      url: String(origin.url),
      sha256: String(origin.sha256),
      fetchedAt: Number(origin.fetched_at),
      checksum: origin.checksum,
      // Validated when it was downloaded; the checksum proves that it is unchanged.
      prices: JSON.parse(body) as PublishedPrices,
    };
  } catch {
    return undefined;
  }
}

/** Replaces the stored prices, atomically. */
export function writeStoredPrices(file: string, prices: PublishedPrices, origin: PricesOrigin): void {
  const body = JSON.stringify(prices);
  const { url, sha256, fetchedAt } = origin;
  const head = JSON.stringify({ url, sha256, fetched_at: fetchedAt, checksum: hash('sha256', body) });
  const fresh = `${file}.${process.pid}.new`;
  writing(file, () => {
    try {
      writeFileSync(fresh, `${head}\n${body}`, { mode: 0o600, flush: true });
      renameSync(fresh, file);
    } finally {
      rmSync(fresh, { force: true });
    }
  });
}
