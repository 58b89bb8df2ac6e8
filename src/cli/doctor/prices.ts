import { PACKAGED_PRICES } from '../../pricing/library.ts';
import { readStoredPrices } from '../../pricing/published/stored-prices.ts';
import type { Context } from '../context.ts';
import { type Finding, ok, warning } from './check.ts';

const DAY_MS = 86_400_000;
const OLD_DAYS = 60;

/** Warns when providers may have changed prices since those in use were released or downloaded. */
export function checkPrices({ clock, paths }: Pick<Context, 'clock' | 'paths'>): Finding {
  const { stored, problem } = readStoredPrices(paths.prices);
  if (problem) return warning('prices', problem, 'gw prices update');
  const { version, releasedAt } = PACKAGED_PRICES;
  const atMs = stored?.fetchedAt ?? releasedAt;
  const date = new Date(atMs).toISOString().slice(0, 10);
  const what = stored ? 'the downloaded prices' : `the packaged prices (genai-prices ${version})`;
  const inUse = `${what} are of ${date}`;
  const days = Math.floor((clock.now() - atMs) / DAY_MS);
  if (days <= OLD_DAYS) return ok('prices', inUse);
  return warning(
    'prices',
    `${inUse}, ${days} days ago; providers may have changed theirs`,
    'gw prices update',
  );
}
