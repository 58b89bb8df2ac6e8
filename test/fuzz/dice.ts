import { seededRandom } from '../routing/seeded-random.ts';

/** Choices that repeat with their seed. */
export interface Dice {
  /** A whole number from 0 up to, not including, `bound`. */
  below(bound: number): number;
  chance(share: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Every case has dice of its own, so that it can be repeated without those before it. */
export function diceOf(seed: number, caseNumber: number): Dice {
  const random = seededRandom((Math.imul(seed, 0x9e3779b1) ^ Math.imul(caseNumber + 1, 0x85ebca6b)) >>> 0);
  const below = (bound: number) => Math.floor(random() * bound);
  return {
    below,
    chance: (share) => random() < share,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
  };
}
