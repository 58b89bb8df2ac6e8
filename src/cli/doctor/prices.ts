import { PACKAGED_PRICES } from '../../pricing/library.ts';
import type { Context } from '../context.ts';
import { type Finding, ok, warning } from './check.ts';

const DAY_MS = 86_400_000;
const OLD_DAYS = 60;

/** Warns when providers may have changed prices since the packaged ones were released. */
export function checkPrices({ clock }: Pick<Context, 'clock'>): Finding {
  const { version, releasedAt } = PACKAGED_PRICES;
  const date = new Date(releasedAt).toISOString().slice(0, 10);
  const packaged = `the packaged prices (genai-prices ${version}) are of ${date}`;
  const days = Math.floor((clock.now() - releasedAt) / DAY_MS);
  if (days <= OLD_DAYS) return ok('prices', packaged);
  return warning(
    'prices',
    `${packaged}, ${days} days ago; providers may have changed theirs`,
    'update gw, or set the price of a model with gw prices set',
  );
}
