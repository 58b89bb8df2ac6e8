import type { Target } from './resolve.ts';

/** At how many tenths of the listed prices a target answers requests that ask for no terms, as its answers tell. */
export interface DefaultTerms {
  of(target: Target): number;
  learn(target: Target, tenths: number): void;
}

const LISTED = 10;
/** Names of models come from clients. */
const MAX_REMEMBERED = 1_000;

/**
 * An account may have a dearer tier or place by default, of which nobody knows before the first answer: that one may
 * cost more than was held for it, and those behind it are held for at what it told.
 */
export function createDefaultTerms(): DefaultTerms {
  const dearer = new Map<string, number>();
  const keyOf = ({ provider, model }: Target) => `${provider.name}/${model}`;
  return {
    of: (target) => (dearer.size === 0 ? LISTED : (dearer.get(keyOf(target)) ?? LISTED)),
    learn(target, tenths) {
      if (tenths <= LISTED) {
        if (dearer.size > 0) dearer.delete(keyOf(target));
        return;
      }
      if (dearer.size >= MAX_REMEMBERED) dearer.clear();
      dearer.set(keyOf(target), tenths);
    },
  };
}
