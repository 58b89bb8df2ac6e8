import { type ModelTiers, namesIn } from '../../config/tiers.ts';
import { unitHash } from '../conversation-key.ts';

/** Integers up to this one are exact as 32-bit floats, which is how the learner's file stores them. */
const MAX_EXACT_FLOAT32 = 2 ** 24 - 1;

/** Fingerprint of the models of all tiers, independent of the tiers' names; 0 when no tiers are configured. */
export function modelsFingerprint(
  tiers: Readonly<Record<string, Pick<ModelTiers, 'strong' | 'weak'>>>,
): number {
  const pairs = Object.values(tiers).map(({ strong, weak }) =>
    [strong, weak.models].map((models) => namesIn(models).sort().join(',')).join(';'),
  );
  if (pairs.length === 0) return 0;
  return 1 + Math.floor(unitHash([...new Set(pairs)].sort().join('\n')) * (MAX_EXACT_FLOAT32 - 1));
}
