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
 * An account may have a dearer tier or place by default, of which nobody knows before the first answer: what was sent
 * before that may cost more than was held for it, and what comes later is held for at what it told. Where OpenAI is
 * asked for its default tier (pin-tier.ts) there is no such surprise.
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
