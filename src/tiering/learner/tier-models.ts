import { namesIn, parseTiers } from '../../config/tiers.ts';
import { placeOf } from '../conversation-key.ts';

/** Numbers up to here are exact in 32 bits of float, as heads are stored. */
const MOST = 2 ** 24 - 1;

/** A number that stands for the models of all tiers, whatever they are called; 0 where no tiers are configured. */
export function modelsOf(tiers: Readonly<Record<string, string>>): number {
  const pairs = Object.entries(tiers).map(([model, written]) => {
    const { strong, weak } = parseTiers(written, model);
    return [strong, weak.models].map((models) => namesIn(models).sort().join(',')).join(';');
  });
  if (pairs.length === 0) return 0;
  return 1 + Math.floor(placeOf([...new Set(pairs)].sort().join('\n')) * (MOST - 1));
}
